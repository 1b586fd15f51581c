package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/reconcile"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func findings() []promise {
	return []promise{
		{"books are what may be sold, orders asked for, and effects that Redis may not have heard of", booksOf},
		{"books know an open finding until it is marked", findingOpen},
		{"findings come newest first, whole, and a bounded number", findingList},
		{"under its lock no placement of a cabinet counts, and a note is durable with the lock's end", lockedWaits},
		{"work that fails under the lock leaves no note", lockedFails},
	}
}

func (f *Fixture) booksOf(ids ...string) reconcile.Books {
	f.t.Helper()
	all, err := f.Books(f.ctx, map[string][]string{cabinet: ids})
	f.ok(err)
	return all[cabinet]
}

func booksOf(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 5})
	held, gone := f.place(line("cola", 2)), f.place(line("chips", 1))
	fact := f.record(statement.Restock, wire.Line{SKU: "cola", Qty: 3})
	f.move(gone.ID, order.Timeout)
	elsewhere := f.orderAt("C2", line("cola", 1))
	f.ok(f.Place(f.ctx, f.placement(elsewhere)))
	for _, when := range []string{"before the deduct log knows", "after"} {
		b := f.booksOf(held.ID, elsewhere.ID, f.ID())
		if b.Generation != f.gens[cabinet] || !Same(b.Sellable, Stock{"cola": 11, "chips": 10}) {
			t.Errorf("%s: generation %s, sellable %v", when, b.Generation, b.Sellable)
		}
		if o := b.Orders[held.ID]; len(b.Orders) != 2 || !o.InForce || o.Version != 1 || !slices.Equal(o.Lines, []wire.Line{{SKU: "cola", Qty: 2}}) {
			t.Errorf("%s: orders %+v", when, b.Orders)
		}
		if o := b.Orders[gone.ID]; o.InForce || o.Version != 2 || !b.Releases[gone.ID] || len(b.Releases) != 1 {
			t.Errorf("%s: released %+v, %v", when, o, b.Releases)
		}
		if u := b.Adjusts[fact.ID]; len(b.Adjusts) != 1 || !slices.Equal(u, []reconcile.Units{{SKU: "cola", Units: 3}}) {
			t.Errorf("%s: adjusts %+v", when, b.Adjusts)
		}
		f.settleAll()
	}
	all, err := f.Books(f.ctx, nil)
	if f.ok(err); len(all) != 0 {
		t.Errorf("of no cabinet: %+v", all)
	}
}

func (f *Fixture) finding(s reconcile.State, lines ...reconcile.Difference) reconcile.Finding {
	return reconcile.Finding{ID: f.ID(), Cabinet: cabinet, State: s, Lines: lines, At: f.Now()}
}

func findingOpen(t *testing.T, f *Fixture) {
	one, dry := f.finding(reconcile.Open, reconcile.Difference{SKU: "cola", Expected: 4, Found: 7}), f.finding(reconcile.DryRun, reconcile.Difference{SKU: "cola", Expected: 4, Found: 7})
	f.ok(f.NoteFinding(f.ctx, one))
	f.ok(f.NoteFinding(f.ctx, dry))
	if b := f.booksOf(); len(b.Open) != 1 || !b.Open[one.ID].Equal(one.At) {
		t.Errorf("open: %v", b.Open)
	}
	f.ok(f.MarkFinding(f.ctx, one.ID, reconcile.Repaired))
	f.ok(f.MarkFinding(f.ctx, one.ID, reconcile.Overtaken)) // too late: it is known
	f.ok(f.MarkFinding(f.ctx, dry.ID, reconcile.Repaired))
	if b := f.booksOf(); len(b.Open) != 0 {
		t.Errorf("still open: %v", b.Open)
	}
	got, err := f.Findings(f.ctx, f.Now().Add(-time.Hour), 10)
	f.ok(err)
	states := map[string]reconcile.State{}
	for _, g := range got {
		states[g.ID] = g.State
	}
	if len(got) != 2 || states[one.ID] != reconcile.Repaired || states[dry.ID] != reconcile.DryRun {
		t.Errorf("kept as %v", states)
	}
}

func findingList(t *testing.T, f *Fixture) {
	var all []reconcile.Finding
	for n := range 4 {
		one := f.finding(reconcile.Repaired, reconcile.Difference{SKU: "chips", Expected: int64(n), Found: -1}, reconcile.Difference{SKU: "cola", Expected: 1, Found: 2})
		f.ok(f.NoteFinding(f.ctx, one))
		all = append(all, one)
		f.Pass(time.Minute)
	}
	slices.Reverse(all)
	for since, n := range map[time.Duration]int{time.Hour: 3, 150 * time.Second: 2, 0: 0} {
		got, err := f.Findings(f.ctx, f.Now().Add(-since), 3)
		f.ok(err)
		if want := all[:n]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("since %v: %+v, want %+v", since, got, want)
		}
	}
}

func lockedWaits(t *testing.T, f *Fixture) {
	one := f.finding(reconcile.Repaired, reconcile.Difference{SKU: "cola", Expected: 1, Found: 2})
	p := f.placement(f.order(line("cola", 1)))
	placed := make(chan error, 1)
	f.ok(f.Locked(f.ctx, cabinet, func(ctx context.Context, d reconcile.Desk) error {
		go func() { placed <- f.Place(f.ctx, p) }()
		for range 2 {
			b, err := d.Books(ctx, []string{p.Order.ID})
			if err != nil {
				return err
			}
			if len(b.Orders) != 0 || !Same(b.Sellable, Stock{"cola": 10, "chips": 10}) {
				t.Errorf("placed meanwhile: %+v", b)
			}
			time.Sleep(20 * time.Millisecond)
		}
		select {
		case err := <-placed: // told to rebuild, which waits for the lock
			if !errors.Is(err, order.ErrStale) {
				t.Errorf("it counted: %v", err)
			}
			placed <- err
		default:
		}
		return d.Note(ctx, one)
	}))
	if err := <-placed; errors.Is(err, order.ErrStale) {
		f.ok(f.Place(f.ctx, f.placement(p.Order)))
	} else {
		f.ok(err)
	}
	if got, err := f.Findings(f.ctx, f.Now().Add(-time.Hour), 3); err != nil || len(got) != 1 || got[0].ID != one.ID {
		t.Errorf("noted: %+v, %v", got, err)
	}
	f.settleAll()
}

func lockedFails(t *testing.T, f *Fixture) {
	broken := errors.New("broken")
	err := f.Locked(f.ctx, cabinet, func(ctx context.Context, d reconcile.Desk) error {
		return errors.Join(d.Note(ctx, f.finding(reconcile.Repaired, reconcile.Difference{SKU: "cola", Expected: 1, Found: 2})), broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got, err := f.Findings(f.ctx, f.Now().Add(-time.Hour), 3); err != nil || len(got) != 0 {
		t.Errorf("noted: %+v, %v", got, err)
	}
	f.ok(f.Place(f.ctx, f.placement(f.order(line("cola", 1))))) // the lock is gone
	f.settleAll()
}
