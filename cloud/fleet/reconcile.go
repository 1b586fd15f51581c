package fleet

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/reconcile"
	"vendline/shared/wire"
)

//go:embed page/reconcile.html
var reconcileHTML string

//go:embed page/reconcile.js
var reconcileJS string

// Reconciliation compares Redis with the ledger.
type Reconciliation interface {
	Round(ctx context.Context, cabinets []string, dry bool, each func(reconcile.Outcome)) (reconcile.Report, error)
	Findings(ctx context.Context, since time.Time, n int) ([]reconcile.Finding, error)
	// LastRound tells when the last round over all cabinets ended, when the next is
	// due, and what it reported, as ReportOf wrote it; zero times are never.
	LastRound(ctx context.Context) (ended, due time.Time, report []byte, err error)
}

// reconcileBody says which cabinets to compare: some, or all.
type reconcileBody struct {
	Cabinets []string `json:"cabinets"`
	All      bool     `json:"all"`
	DryRun   bool     `json:"dry_run"`
}

// RoundReport is a round as it is shown and kept.
type RoundReport struct {
	Cabinets  int   `json:"cabinets"`
	Equal     int   `json:"equal"`
	NotLoaded int   `json:"not_loaded"` // nothing in Redis that could be wrong
	Stale     int   `json:"stale"`      // fenced, and about to be rebuilt
	Failed    int   `json:"failed"`
	Frozen    int   `json:"frozen"` // compared while orders waited, since they never stood still
	Findings  int   `json:"findings"`
	Repaired  int   `json:"repaired"`
	Units     int64 `json:"units"` // that differed, added up without sign
	TookMS    int64 `json:"took_ms"`
}

// ReportOf is a report in the page's terms.
func ReportOf(r reconcile.Report) RoundReport {
	return RoundReport{r.Cabinets, r.Equal, r.NotLoaded, r.Stale, r.Failed, r.Frozen, r.Findings, r.Repaired, r.Units, r.Took.Milliseconds()}
}

type differenceView struct {
	SKU      string `json:"sku"`
	Expected int64  `json:"expected"` // by the ledger
	Found    int64  `json:"found"`    // in Redis
}

type findingView struct {
	ID      string           `json:"id"`
	Cabinet string           `json:"cabinet"`
	At      int64            `json:"at"` // Unix ms
	State   string           `json:"state"`
	Lines   []differenceView `json:"lines"`
}

func findingOf(f reconcile.Finding) *findingView {
	v := &findingView{ID: f.ID, Cabinet: f.Cabinet, At: f.At.UnixMilli(), State: string(f.State), Lines: []differenceView{}}
	for _, d := range f.Lines {
		v.Lines = append(v.Lines, differenceView(d))
	}
	return v
}

// comparison is one line of a round's answer. The last line has no cabinet, and
// the report.
type comparison struct {
	Cabinet string       `json:"cabinet,omitempty"`
	Result  string       `json:"result,omitempty"`
	Done    int          `json:"done"`
	Total   int          `json:"total"`
	Finding *findingView `json:"finding,omitempty"`
	Report  *RoundReport `json:"report,omitempty"`
	Error   string       `json:"error,omitempty"`
}

// runReconcile answers POST /v1/fleet/reconcile with one JSON line per cabinet,
// as each is compared. It ends when its caller goes away.
func (f *Fleet) runReconcile(w http.ResponseWriter, r *http.Request) {
	var b reconcileBody
	err := f.host.ReadJSON(w, r, &b)
	if err == nil {
		err = f.checkReconcile(r.Context(), &b)
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	rc := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	line := json.NewEncoder(w)
	p := comparison{Total: len(b.Cabinets)}
	write := func() {
		_ = rc.SetWriteDeadline(time.Now().Add(writeLimit))
		if line.Encode(p) != nil || rc.Flush() != nil {
			cancel()
		}
	}
	rep, err := f.opt.Reconciliation.Round(ctx, b.Cabinets, b.DryRun, func(o reconcile.Outcome) {
		p.Done++
		p.Cabinet, p.Result, p.Finding, p.Error = o.Cabinet, string(o.Result), nil, ""
		if o.Finding != nil {
			p.Finding = findingOf(*o.Finding)
		}
		if o.Err != nil && o.Result == reconcile.Failed {
			p.Error = f.explain(o.Cabinet, o.Err)
		}
		write()
	})
	v := ReportOf(rep)
	p.Cabinet, p.Result, p.Finding, p.Error, p.Report = "", "", nil, "", &v
	if err != nil {
		p.Error = "interrupted"
	}
	write()
}

func (f *Fleet) checkReconcile(ctx context.Context, b *reconcileBody) (err error) {
	switch {
	case f.opt.Reconciliation == nil:
		return errNoStock
	case b.All == (len(b.Cabinets) > 0):
		return &wire.FieldError{Path: "cabinets", Problem: "must name cabinets, or all must be true"}
	case len(b.Cabinets) > mostNamed:
		return &wire.FieldError{Path: "cabinets", Problem: "must name at most " + strconv.Itoa(mostNamed) + "; use all"}
	case b.All:
		b.Cabinets, err = f.opt.Ledger.Cabinets(ctx)
		return err
	}
	known, err := f.opt.Ledger.Cabinets(ctx)
	if err != nil {
		return err
	}
	for i, id := range b.Cabinets {
		if _, ok := slices.BinarySearch(known, id); !ok {
			return &wire.FieldError{Path: "cabinets[" + strconv.Itoa(i) + "]", Problem: "is no cabinet"}
		}
	}
	slices.Sort(b.Cabinets)
	b.Cabinets = slices.Compact(b.Cabinets)
	return nil
}

var errNoStock = &order.Refusal{Code: wire.CodeNotFound, Detail: "this service keeps no stock that could be compared"}

// readReconcile answers GET /v1/fleet/reconcile?limit=100: the last round, and
// the findings of a month, newest first.
func (f *Fleet) readReconcile(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r)
	if err == nil && f.opt.Reconciliation == nil {
		err = errNoStock
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	found, err := f.opt.Reconciliation.Findings(r.Context(), f.opt.Clock().AddDate(0, -1, 0), limit)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	ended, due, report, err := f.opt.Reconciliation.LastRound(r.Context())
	var last *RoundReport
	if err == nil && len(report) > 0 {
		err = json.Unmarshal(report, &last)
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	views := []*findingView{}
	for _, one := range found {
		views = append(views, findingOf(one))
	}
	f.write(w, struct {
		At       int64          `json:"at"`
		Ended    *int64         `json:"last_round_at"` // null: none yet
		Due      *int64         `json:"next_round_at"`
		Last     *RoundReport   `json:"last_round"`
		Findings []*findingView `json:"findings"`
	}{f.opt.Clock().UnixMilli(), known(ended), known(due), last, views})
}

func known(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	v := t.UnixMilli()
	return &v
}
