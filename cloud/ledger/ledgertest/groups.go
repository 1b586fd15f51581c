package ledgertest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

func groups() []promise {
	return []promise{
		{"callers at once share commits", groupShares},
		{"one that cannot commit costs itself only", groupSplits},
		{"the largest group fits the parameter limit", groupLargest},
		{"a group's rows are one per shard, not one per order", groupRows},
	}
}

// together hands placements in at once, and returns each one's own error.
func (f *Fixture) together(l *ledger.Ledger, ps []*order.Placement) []error {
	errs := make([]error, len(ps))
	var wg sync.WaitGroup
	for i, p := range ps {
		wg.Go(func() { errs[i] = l.Place(f.ctx, p) })
	}
	wg.Wait()
	return errs
}

func groupShares(t *testing.T, f *Fixture) {
	l := f.Open(func(o *ledger.Options) { o.Workers = 1 })
	f.AddStock("C2", map[string]int64{"cola": 1000})
	ps := make([]*order.Placement, 300)
	for i := range ps {
		ps[i] = f.placement(f.orderAt("C2", line("cola", 1)))
	}
	for i, err := range f.together(l, ps) {
		if err != nil {
			t.Errorf("order %d: %v", i, err)
		}
	}
	if commits, orders := l.Counters().OrderCommits.Load(), l.Counters().Orders.Load(); orders != 300 || commits > 150 {
		t.Errorf("%d orders in %d commits", orders, commits)
	}
	f.settleAll()
}

func groupSplits(t *testing.T, f *Fixture) {
	taken := f.place(line("cola", 1))
	ticket := f.run(cabinet)
	doubled := f.placement(f.order(line("cola", 1)))
	doubled.Run = ticket
	f.ok(f.Place(f.ctx, doubled))
	l := f.Open(func(o *ledger.Options) { o.Workers = 1 })
	var ps []*order.Placement
	want := map[int]error{}
	for i := range 24 {
		p := f.placement(f.order(line("cola", 1+i%2)))
		switch i {
		case 3:
			p.Order.ID, want[i] = taken.ID, order.ErrExists
		case 9:
			p.Run.Generation, want[i] = "gone.first", order.ErrStale
		case 14:
			p.Run, want[i] = ticket, order.ErrDoubled
		case 20: // a row that the table refuses
			p.Order.Lines, want[i] = []order.Line{line("cola", 1), line("cola", 1)}, errBad
		}
		ps = append(ps, p)
	}
	for i, err := range f.together(l, ps) {
		switch {
		case want[i] == nil && err != nil:
			t.Errorf("order %d: %v", i, err)
		case want[i] == errBad && err == nil:
			t.Errorf("order %d is accepted", i)
		case want[i] != nil && want[i] != errBad && !errors.Is(err, want[i]):
			t.Errorf("order %d: %v, want %v", i, err, want[i])
		}
	}
	if n := f.count("SELECT COUNT(*) FROM trade_order"); n != 22 {
		t.Errorf("%d orders, want 22", n)
	}
}

var errBad = errors.New("any error")

func groupLargest(t *testing.T, f *Fixture) {
	opening := map[string]int64{}
	var lines []order.Line
	for i := range 50 {
		sku := fmt.Sprintf("sku-%02d", i)
		opening[sku] = 1000
		lines = append(lines, line(sku, 1))
	}
	f.AddStock("C2", opening)
	l := f.Open(func(o *ledger.Options) { o.Workers = 1 })
	ps := make([]*order.Placement, 600)
	for i := range ps {
		ps[i] = f.placement(f.orderAt("C2", lines...))
	}
	for i, err := range f.together(l, ps) {
		if err != nil {
			t.Fatalf("order %d: %v", i, err)
		}
	}
	if n := l.Counters().OrderCommits.Load(); n > 60 {
		t.Errorf("600 orders took %d commits: the largest groups were split", n)
	}
	f.apply(f.messages()...)
	rows, err := f.Stock(f.ctx, "C2")
	f.ok(err)
	for _, r := range rows {
		if r.Available != 400 || r.Locked != 600 {
			t.Errorf("%+v", r)
		}
	}
}

func groupRows(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 1000})
	l := f.Open(func(o *ledger.Options) { o.Workers = 1 })
	ps := make([]*order.Placement, 400)
	for i := range ps {
		ps[i] = f.placement(f.orderAt("C2", line("cola", 1)))
	}
	f.together(l, ps)
	commits := int(l.Counters().OrderCommits.Load())
	if n := len(f.rows(outbox.KindTimer)); n > commits {
		t.Errorf("%d timer rows of %d commits", n, commits)
	}
	for _, m := range f.messages() {
		if n := len(m.Encode()); n > 1<<20 {
			t.Errorf("a message of %d bytes", n)
		}
	}
	f.settleAll()
}
