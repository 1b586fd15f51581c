// Package fleet is the operator's side: one live page, the reads behind it, and
// what an operator does: set planograms, warm cabinets up, close cases. It changes nothing by
// itself.
//
// However many pages are open and however many orders flow, one sampler reads
// the ledger and the stock filter, a bounded number of rows at a time, and all
// pages are fed from what it keeps; while nobody watches it sleeps. What cannot
// be read is shown as unknown, never as 0.
//
// Files, in the order of the data: ports.go, sampler.go and gather.go (what is
// read when, and how), cabinets.go, recent.go, pipeline.go and desk.go (what is kept),
// events.go (the stream), page.go and page/ (what is seen); reads.go,
// orders.go, planograms.go and warmup.go stand beside it.
package fleet

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"vendline/cloud/order"
)

// Options of a Fleet. Ledger, Desk, Planograms and Presences are required.
type Options struct {
	Ledger     Ledger
	Desk       Desk
	Planograms Planograms
	Presences  func() []Presence                               // all cabinets that were ever heard of
	Live       Live                                            // nil: sellable units are unknown
	Depth      func(ctx context.Context) (int64, error)        // messages the queue holds for step 8; nil: unknown
	Tap        func() (orders <-chan order.Order, end func())  // order.Watcher.Tap; nil: orders are seen by reading only
	Placed     func() int64                                    // orders placed by this process so far; nil: no rate is shown
	Rebuild    func(ctx context.Context, cabinet string) error // loads a cabinet's stock; nil: no warm-up

	Alerts Alerts // nil: there are none

	Reconciliation Reconciliation // nil: there is no Redis to compare
	Groups         Groups         // nil: there are none
	Audits         Audits         // nil: nobody audits

	Clock func() time.Time // nil means time.Now
	Log   *slog.Logger     // nil means silence

	Every    time.Duration // between two samples; 0 means 500 ms
	Beat     time.Duration // a stream without news says so; 0 means 15 s
	Watchers int           // most pages at once; 0 means 256
	Parallel int           // cabinets warmed up at once, over all requests; 0 means 4
}

// Fleet serves the page. Safe for concurrent use.
type Fleet struct {
	opt   Options
	host  Host
	page  page
	warm  chan struct{} // one token per cabinet being warmed up
	watch watchers
	state state

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// New returns a Fleet that reads nothing until somebody looks. Close ends its
// streams.
func New(opt Options) (*Fleet, error) {
	if opt.Ledger == nil || opt.Desk == nil || opt.Planograms == nil || opt.Presences == nil {
		return nil, errors.New("fleet: Ledger, Desk, Planograms and Presences are required")
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Every <= 0 {
		opt.Every = 500 * time.Millisecond
	}
	if opt.Beat <= 0 {
		opt.Beat = 15 * time.Second
	}
	if opt.Watchers <= 0 {
		opt.Watchers = 256
	}
	if opt.Parallel <= 0 {
		opt.Parallel = 4
	}
	f := &Fleet{opt: opt, page: compose(pageHTML, pageJS), warm: make(chan struct{}, opt.Parallel)}
	f.state.init()
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f, nil
}

// Mount adds the routes to a server and lets its drain end the streams.
func (f *Fleet) Mount(h Host) {
	f.host = h
	for _, r := range []struct {
		method, path string
		serve        http.HandlerFunc
	}{
		{http.MethodGet, "/", f.page.ServeHTTP},
		{http.MethodGet, "/v1/fleet/events", f.events},
		{http.MethodGet, "/v1/fleet/cabinets", f.readCabinets},
		{http.MethodGet, "/v1/fleet/cabinets/:id/planogram", f.readPlanogram},
		{http.MethodPut, "/v1/fleet/cabinets/:id/planogram", f.setPlanogram},
		{http.MethodPost, "/v1/fleet/cabinets/:id/slots/:slot/resume", f.resumeSlot},
		{http.MethodGet, "/v1/fleet/planograms", f.readUnacked},
		{http.MethodGet, "/v1/fleet/orders", f.readOrders},
		{http.MethodGet, "/v1/fleet/cases", f.readCases},
		{http.MethodPost, "/v1/fleet/cases/:id/close", f.closeCase},
		{http.MethodPost, "/v1/fleet/refunds/:id/retry", f.retryRefund},
		{http.MethodGet, "/v1/fleet/pipeline", f.readPipeline},
		{http.MethodGet, "/alerts", compose(alertsHTML, alertsJS).ServeHTTP},
		{http.MethodGet, "/v1/fleet/alerts", f.readAlerts},
		{http.MethodPost, "/v1/fleet/alerts/:key/snooze", f.snoozeAlert},
		{http.MethodDelete, "/v1/fleet/alerts/:key/snooze", f.endSnooze},
		{http.MethodPost, "/v1/fleet/snoozes", f.snoozeRule},
		{http.MethodPost, "/v1/fleet/sinks/:name/test", f.testSink},
		{http.MethodGet, "/letters", compose(lettersHTML, lettersJS).ServeHTTP},
		{http.MethodGet, "/v1/fleet/dead-letters", f.readLetters},
		{http.MethodGet, "/v1/fleet/dead-letters/:id", f.readLetter},
		{http.MethodPost, "/v1/fleet/dead-letters/redrive", f.redrive},
		{http.MethodPost, "/v1/fleet/dead-letters/discard", f.discard},
		{http.MethodGet, "/v1/fleet/outbox", f.readOutbox},
		{http.MethodPost, "/v1/fleet/warmup", f.warmup},
		{http.MethodPut, "/v1/fleet/cabinets/:id/group", f.setGroup},
		{http.MethodGet, "/reconcile", compose(reconcileHTML, reconcileJS).ServeHTTP},
		{http.MethodGet, "/v1/fleet/reconcile", f.readReconcile},
		{http.MethodPost, "/v1/fleet/reconcile", f.runReconcile},
		{http.MethodGet, "/v1/fleet/incidents", f.readIncidents},
		{http.MethodGet, "/v1/fleet/audit", f.readAudit},
		{http.MethodPost, "/v1/fleet/audit", f.runAudit},
	} {
		h.Handle(r.method, r.path, r.serve)
	}
	h.OnDrain(f.cancel)
}

// Close ends the streams and the sampler, and waits for the sampler.
func (f *Fleet) Close() {
	f.cancel()
	f.watch.close()
	f.work.Wait()
}
