package drill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"vendline/cloud/app"
	"vendline/shared/wire"
)

// Through sends one order by phone and one by scan to every cabinet and waits
// until each has gone the whole path: accepted, in MySQL, and known to the
// deduct log. It is also the touch that makes a fenced cabinet load again: a
// deduct that counts, not one that is refused. It tells when each leg was done.
func (l *Load) Through(ctx context.Context, s *Site) (legs string, err error) {
	p := &probe{load: l, site: s, began: time.Now()}
	var all errgroup.Group
	for n, c := range s.Plan.Cabinets {
		all.Go(func() error { return p.byPhone(ctx, c, s.Plan.Rand(5000+uint64(n))) })
		all.Go(func() error { return p.byScan(ctx, c, s.Plan.Rand(5500+uint64(n))) })
	}
	err = all.Wait()
	slices.Sort(p.legs)
	return strings.Join(p.legs, ", "), err
}

type probe struct {
	load  *Load
	site  *Site
	began time.Time

	mu   sync.Mutex
	legs []string
}

func (p *probe) done(cabinet, leg string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.legs = append(p.legs, fmt.Sprintf("%s %s %.1f s", cabinet, leg, time.Since(p.began).Seconds()))
}

// byPhone orders until there is a yes: a no means only that an attempt was
// interrupted and given back.
func (p *probe) byPhone(ctx context.Context, cabinet string, r *rand.Rand) error {
	w := wish{cabinet: cabinet, user: "prober", lines: []wire.Line{{SKU: ProbeSKU, Qty: 1}}}
	var last answer
	for ctx.Err() == nil {
		key := app.NewID()
		e := p.load.enter(Phone, key, key, w)
		a := p.load.call.insist(ctx, r, p.load.cloud+"/v1/orders", key, phoneBody(w))
		p.load.record(e.ID, a)
		if a.outcome == Yes {
			p.done(cabinet, "phone")
			return p.applied(ctx, e)
		}
		last = a
	}
	return fmt.Errorf("drill: no order by phone comes through at %s, the last answer was %d %s", cabinet, last.status, last.body)
}

func (p *probe) byScan(ctx context.Context, cabinet string, r *rand.Rand) error {
	w := wish{cabinet: cabinet, user: "prober", lines: []wire.Line{{SKU: ProbeSKU, Qty: 1}}}
	for ctx.Err() == nil {
		key := app.NewID()
		e := p.load.enter(Scan, key, key, w)
		p.load.record(e.ID, p.load.call.insist(ctx, r, p.load.agents[cabinet]+"/v1/scan-orders", key, scanBody(w)))
		v, err := p.judged(ctx, e)
		if err != nil {
			return err
		}
		if v.Status == "accepted" {
			p.done(cabinet, "scan")
			return p.applied(ctx, e)
		}
	}
	return fmt.Errorf("drill: no order by scan comes through at %s", cabinet)
}

// judged waits for the cloud's verdict at the cabinet.
func (p *probe) judged(ctx context.Context, e Event) (Verdict, error) {
	for {
		v, err := p.site.verdict(ctx, e)
		if err == nil && v.Status != "pending" && v.Status != "" {
			return v, nil
		}
		select {
		case <-ctx.Done():
			return v, fmt.Errorf("drill: %s has no verdict on scan %s: %q %q (last error: %v)", e.Cabinet, e.ID, v.Status, v.Code, err)
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// applied waits until step 8 knows an order.
func (p *probe) applied(ctx context.Context, e Event) error {
	for {
		var n int
		err := p.site.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM trade_stock_deduct_log WHERE order_sn = ?", e.ID).Scan(&n)
		if err == nil && n > 0 {
			p.done(e.Cabinet, string(e.Kind)+" in step 8")
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("drill: the deduct log does not hear of %s order %s at %s (last error: %v)", e.Kind, e.ID, e.Cabinet, err)
		case <-time.After(30 * time.Millisecond):
		}
	}
}
