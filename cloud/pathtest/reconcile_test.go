package pathtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"vendline/cloud/reconcile"
	"vendline/lua"
)

// comparePort is Redis as a mortal reconciler reaches it.
type comparePort struct{ stockPort }

func (r comparePort) Views(ctx context.Context, cabinets []string) (map[string]reconcile.View, error) {
	return through(r.p, "views", func() (map[string]reconcile.View, error) { return r.s.Views(ctx, cabinets) })
}

func (r comparePort) MarksOf(ctx context.Context, ids map[string][]string) (map[string]reconcile.Marks, error) {
	return r.s.MarksOf(ctx, ids)
}

func (r comparePort) Mend(ctx context.Context, fix reconcile.Repair) error {
	return pass(r.p, "mend", func() error { return r.s.Mend(ctx, fix) })
}

func (r comparePort) Freeze(ctx context.Context, c, token string) (v reconcile.View, ok bool, err error) {
	err = pass(r.p, "freeze load", func() error { v, ok, err = r.s.Freeze(ctx, c, token); return err })
	return v, ok, err
}

func (r comparePort) Thaw(ctx context.Context, c, token string) error {
	return pass(r.p, "thaw load", func() error { return r.s.Thaw(ctx, c, token) })
}

// bookPort is the ledger as a mortal reconciler reaches it.
type bookPort struct{ ledgerPort }

func (l bookPort) Books(ctx context.Context, ids map[string][]string) (map[string]reconcile.Books, error) {
	all, err := through(l.p, "books", func() (map[string]reconcile.Books, error) { return l.Ledger.Books(ctx, ids) })
	if l.p.faults.forgetPending {
		for c, b := range all {
			b.Releases, b.Adjusts = nil, nil
			all[c] = b
		}
	}
	return all, err
}

func (l bookPort) NoteFinding(ctx context.Context, f reconcile.Finding) error {
	return pass(l.p, "finding", func() error { return l.Ledger.NoteFinding(ctx, f) })
}

func (l bookPort) MarkFinding(ctx context.Context, id string, s reconcile.State) error {
	return pass(l.p, "finding marked", func() error { return l.Ledger.MarkFinding(ctx, id, s) })
}

// compare reconciles the cabinet, frozen or not, and returns what differed.
func (p *process) compare(frozen bool) (found []reconcile.Difference) {
	p.auditor.Tries = 0
	if frozen {
		p.auditor.Tries = -1
	}
	_, _ = p.auditor.Round(p.ctx, []string{cabinet}, false, func(o reconcile.Outcome) {
		if o.Finding != nil {
			found = o.Finding.Lines
		}
	})
	return found
}

// A consistent system has no differences, whatever is under way.
func (h *history) compare(p *process, frozen bool) {
	if found := p.compare(frozen); len(found) > 0 && !h.lossy {
		h.false = append(h.false, fmt.Sprintf("reconcile finds %+v (frozen %v) though Redis lost nothing", found, frozen))
	}
}

// Redis has units too many, or too few, that nobody explains: they are found and
// repaired once, whoever dies in between, and whatever else goes on.
func TestADifferenceIsRepairedOnceWhereverItsFinderDies(t *testing.T) {
	for _, units := range []int{3, -3} {
		for _, frozen := range []bool{false, true} {
			points := []string{""}
			for _, step := range []string{"finding", "mend", "finding marked", "freeze load", "thaw load"} {
				points = append(points, "before "+step, "after "+step)
			}
			for _, die := range points {
				t.Run(fmt.Sprintf("%+d, frozen %v, dies %s", units, frozen, die), func(t *testing.T) {
					t.Parallel()
					differs(t, units, frozen, die)
				})
			}
		}
	}
}

func differs(t *testing.T, units int, frozen bool, die string) {
	s, c := newSite(t), newCustomers()
	first := s.start(nil)
	c.place(first, "a", 2, 1)
	c.place(first, "b", 1, 0)
	c.cancel(first, "b") // whose release waits
	first.carry("stock")
	s.redis.HIncrBy(lua.KeysOf(cabinet, "", "").Stock, "cola", units)
	p := s.start(func(point string, _ int) bool { return point == die })
	p.compare(frozen)
	p.end()
	q := s.start(nil)
	defer q.end()
	defer first.end()
	c.place(q, "c", 1, 0)
	again := q.compare(frozen)
	if last := q.compare(!frozen); len(last) > 0 {
		t.Errorf("it is not repaired: %+v, then %+v", again, last)
	}
	q.quiet()
	for _, w := range q.verdict(c) {
		t.Error(w)
	}
	var open int
	s.ok(s.db.QueryRowContext(s.ctx, "SELECT COUNT(*) FROM reconcile_finding WHERE state = 'open'").Scan(&open))
	if open > 0 {
		t.Errorf("%d findings are still open", open)
	}
}

// One who looks between another's finding and its repair takes the finding for
// overtaken; the repair's own word corrects that.
func TestARepairIsCalledOneWhoeverLookedMeanwhile(t *testing.T) {
	s, c := newSite(t), newCustomers()
	a, b := s.start(nil), s.start(func(point string, _ int) bool { return point == "before mend" })
	defer a.end()
	defer b.end()
	c.place(a, "a", 2, 1)
	s.redis.HIncrBy(lua.KeysOf(cabinet, "", "").Stock, "cola", 3)
	a.meanwhile = func(point string) {
		if point == "before mend" && !b.killed() {
			b.compare(false)
		}
	}
	a.compare(false)
	a.meanwhile = nil
	if again := a.compare(false); len(again) > 0 || !b.killed() {
		t.Errorf("again %+v; the other died: %v", again, b.killed())
	}
	var repaired int
	s.ok(s.db.QueryRowContext(s.ctx, "SELECT COUNT(*) FROM reconcile_finding WHERE state = 'repaired'").Scan(&repaired))
	if repaired != 1 {
		t.Errorf("%d findings say that they are repaired, one is", repaired)
	}
}

// Rules of the comparison that are left out must show as false differences.
func TestTheComparisonNeedsEachOfItsRules(t *testing.T) {

	uncounted := lua.Embedded()
	uncounted.Deduct = lua.New("batch_deduct_stock", strings.Replace(uncounted.Deduct.Source, "local mut = int('%d', (have[2] or 0) + 1)", "local mut = have[2]", 1))
	if uncounted.Deduct.SHA == lua.Embedded().Deduct.SHA {
		t.Fatal("the script is not what it was; plant the mistake anew")
	}
	for name, out := range map[string]faults{
		"effects that Redis may not have heard of are forgotten": {forgetPending: true},
		"a deduct does not raise the counter":                    {scripts: &uncounted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(100) {
				if wrong := play(t, seed, setting{faults: out}); len(wrong) > 0 {
					t.Logf("seed %d: %s", seed, wrong[0])
					return
				}
			}
			t.Error("no history notices")
		})
	}
}
