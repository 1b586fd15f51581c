package ledgertest

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/planogram"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func planograms() []promise {
	return []promise{
		{"planogram versions are dense, and each tells its cabinet", planogramVersions},
		{"a planogram made from an old version is refused", planogramBase},
		{"the same planogram again is the same version", planogramAgain},
		{"a planogram of what is no product changes nothing", planogramUnknown},
		{"a SKU that is new at a cabinet gets stock of none, and a new generation", planogramStock},
		{"many who set planograms at once get one version each, and no number is missed", planogramRace},
		{"an answer ends the telling of its version and those before", planogramAcks},
		{"a planogram stands as of each version", planogramReads},
		{"an order keeps the version it was priced under", planogramOrders},
		{"a slot that is out of order is put back once", slotResumed},
	}
}

func slots(ss ...wire.Slot) []wire.Slot { return ss }

func slot(name, sku string, price int64) wire.Slot {
	return wire.Slot{Slot: name, SKU: sku, Capacity: 8, Price: price, Currency: "EUR"}
}

// plan sets a planogram.
func (f *Fixture) plan(c string, ss ...wire.Slot) int64 {
	f.t.Helper()
	v, made, err := f.SetPlanogram(f.ctx, c, ss, nil)
	f.ok(err)
	if !made {
		f.t.Fatalf("version %d was there already", v)
	}
	return v
}

// planRows is how many planogram rows wait.
func (f *Fixture) planRows() int64 {
	f.t.Helper()
	return f.count("SELECT COUNT(*) FROM local_msg WHERE kind = 'planogram'")
}

func planogramVersions(t *testing.T, f *Fixture) {
	for want := int64(1); want <= 3; want++ {
		if v := f.plan(cabinet, slot("A1", "cola", 250+want)); v != want {
			t.Fatalf("version %d, want %d", v, want)
		}
	}
	f.AddStock("C2", map[string]int64{"cola": 1})
	if v := f.plan("C2", slot("A1", "cola", 250)); v != 1 {
		t.Fatalf("another cabinet began with %d", v)
	}
	rows := slices.DeleteFunc(f.Fed(), func(r outbox.Row) bool { return r.Kind != outbox.KindPlanogram })
	if len(rows) != 4 || string(rows[1].Payload) != `{"cabinet":"C1","version":2}` || f.planRows() != 4 {
		t.Errorf("%d rows were handed over: %v", len(rows), rows)
	}
	_, _, err := f.SetPlanogram(f.ctx, "C9", slots(slot("A1", "cola", 1)), nil)
	f.refusal(err, wire.CodeCabinetUnknown)
	_, _, err = f.SetPlanogram(f.ctx, "*", slots(slot("A1", "cola", 1)), nil) // the fleet's own row
	f.refusal(err, wire.CodeCabinetUnknown)
}

func planogramBase(t *testing.T, f *Fixture) {
	zero, one := int64(0), int64(1)
	if _, _, err := f.SetPlanogram(f.ctx, cabinet, slots(slot("A1", "cola", 1)), &one); !errors.Is(err, planogram.ErrConflict) {
		t.Errorf("from a version that never was: %v", err)
	}
	if v, made, err := f.SetPlanogram(f.ctx, cabinet, slots(slot("A1", "cola", 1)), &zero); v != 1 || !made || err != nil {
		t.Errorf("the first: %d, %v", v, err)
	}
	if _, _, err := f.SetPlanogram(f.ctx, cabinet, slots(slot("A1", "cola", 2)), &zero); !errors.Is(err, planogram.ErrConflict) {
		t.Errorf("from an old version: %v", err)
	}
	if v, _, err := f.SetPlanogram(f.ctx, cabinet, slots(slot("A1", "cola", 2)), &one); v != 2 || err != nil {
		t.Errorf("from the newest: %d, %v", v, err)
	}
	if n := f.planRows(); n != 2 {
		t.Errorf("%d rows", n)
	}
}

func planogramAgain(t *testing.T, f *Fixture) {
	zero := int64(0)
	f.plan(cabinet, slot("A1", "cola", 1))
	if v, made, err := f.SetPlanogram(f.ctx, cabinet, slots(slot("A1", "cola", 1)), &zero); v != 1 || made || err != nil {
		t.Errorf("version %d, made %v, %v", v, made, err)
	}
	if n := f.planRows(); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func planogramUnknown(t *testing.T, f *Fixture) {
	_, _, err := f.SetPlanogram(f.ctx, cabinet, slots(slot("A1", "gum", 1), slot("A2", "nectar", 1)), nil)
	f.refusal(err, wire.CodeSKUUnknown)
	if n := f.count("SELECT COUNT(*) FROM trade_planogram") + f.planRows() + f.count("SELECT COUNT(*) FROM trade_sku_stock WHERE sku_id = 'gum'"); n != 0 {
		t.Errorf("%d rows were left behind", n)
	}
}

func planogramStock(t *testing.T, f *Fixture) {
	gen := f.gens[cabinet]
	f.plan(cabinet, slot("A1", "cola", 1), slot("A2", "chips", 1))
	o := f.order(line("cola", 1))
	f.ok(f.Place(f.ctx, f.placement(o)))
	f.plan(cabinet, slot("A1", "cola", 1), slot("A2", "gum", 1))
	if n := f.count("SELECT COUNT(*) FROM trade_sku_stock WHERE cabinet_id = 'C1' AND sku_id = 'gum' AND total = 0 AND version = 1"); n != 1 {
		t.Errorf("%d stock rows", n)
	}
	late := f.placement(f.order(line("cola", 1)))
	if late.Run.Generation != gen {
		t.Fatal("the test's Redis was loaded again")
	}
	if err := f.Place(f.ctx, late); !errors.Is(err, order.ErrStale) {
		t.Errorf("a run under the old generation: %v", err)
	}
	f.load(cabinet)
	f.ok(f.Record(f.ctx, f.factAt(cabinet, statement.Restock, wire.Line{SKU: "gum", Qty: 5})))
	f.settleAll()
	if got, err := f.Sellable(f.ctx, cabinet); err != nil || got["gum"] != 5 || got["chips"] != 10 {
		t.Errorf("%v", got)
	}
}

func planogramRace(t *testing.T, f *Fixture) {
	ledgers := []*ledger.Ledger{f.Ledger}
	if f.target.Shared {
		ledgers = append(ledgers, f.Open(nil))
	}
	f.AddStock("C2", map[string]int64{"cola": 1})
	const each = 12
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[string][]int64{}
	for i, l := range ledgers {
		for _, c := range []string{cabinet, "C2"} {
			wg.Go(func() {
				for n := range each {
					v, made, err := l.SetPlanogram(f.ctx, c, slots(slot("A1", "cola", int64(1000*i+n+1))), nil)
					if err != nil || !made {
						t.Errorf("made %v, %v", made, err)
						return
					}
					mu.Lock()
					got[c] = append(got[c], v)
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	all := int64(0)
	for c, vs := range got {
		slices.Sort(vs)
		for i, v := range vs {
			if v != int64(i+1) {
				t.Fatalf("%s: versions %v", c, vs)
			}
		}
		all += int64(len(vs))
	}
	if n := f.count("SELECT MAX(seq) FROM trade_planogram"); n != all {
		t.Errorf("the last of %d numbers is %d", all, n)
	}
}

func planogramAcks(t *testing.T, f *Fixture) {
	f.plan(cabinet, slot("A1", "cola", 1))
	f.plan(cabinet, slot("A1", "cola", 2))
	f.ok(f.AckPlanogram(f.ctx, cabinet, 9))
	waiting := func() []planogram.Unacked {
		list, err := f.UnackedPlanograms(f.ctx, 10)
		f.ok(err)
		n, err := f.CountUnackedPlanograms(f.ctx)
		f.ok(err)
		if n != int64(len(list)) {
			t.Errorf("%d counted, %d listed", n, len(list))
		}
		return list
	}
	f.ok(f.AckPlanogram(f.ctx, cabinet, 1))
	if list := waiting(); f.planRows() != 1 || len(list) != 1 || list[0] != (planogram.Unacked{Cabinet: cabinet, Version: 2, Since: f.Now(), Acked: 1}) {
		t.Errorf("%d rows, %+v", f.planRows(), list)
	}
	f.plan(cabinet, slot("A1", "cola", 3))
	f.Pass(minute)
	f.ok(f.AckPlanogram(f.ctx, cabinet, 3))
	if list := waiting(); f.planRows() != 0 || len(list) != 0 {
		t.Errorf("%d rows, %+v", f.planRows(), list)
	}
	f.ok(f.AckPlanogram(f.ctx, cabinet, 2)) // heard late
	known, err := f.Planograms(f.ctx, cabinet, "C9")
	f.ok(err)
	if s := known[cabinet]; len(known) != 1 || s.Acked != 3 || !s.AckedAt.Equal(f.Now()) || s.Version != 3 || s.Slots[0].Price != 3 {
		t.Errorf("%+v", known)
	}
}

func planogramReads(t *testing.T, f *Fixture) {
	_, from, err := f.PlanogramChanges(f.ctx, -1)
	f.ok(err)
	f.plan(cabinet, slot("A1", "cola", 1))
	f.plan(cabinet, slot("A1", "cola", 2))
	changed, upto, err := f.PlanogramChanges(f.ctx, from)
	f.ok(err)
	if len(changed) != 1 || changed[cabinet] != 2 || upto != from+2 {
		t.Errorf("%v up to %d", changed, upto)
	}
	if changed, again, err := f.PlanogramChanges(f.ctx, upto); err != nil || len(changed) != 0 || again != upto {
		t.Errorf("%v up to %d, %v", changed, again, err)
	}
	if p, ok, err := f.PlanogramAt(f.ctx, cabinet, 1); err != nil || !ok || p.Version != 1 || p.Slots[0] != slot("A1", "cola", 1) {
		t.Errorf("%+v, %v, %v", p, ok, err)
	}
	if _, ok, err := f.PlanogramAt(f.ctx, cabinet, 7); ok || err != nil {
		t.Errorf("a version that never was: %v, %v", ok, err)
	}
}

func planogramOrders(t *testing.T, f *Fixture) {
	a, b := f.order(line("cola", 1)), f.order(line("cola", 1))
	b.PricedAt = 7
	var wg sync.WaitGroup
	for _, o := range []order.Order{a, b} {
		p := f.placement(o)
		wg.Go(func() {
			if err := f.Place(f.ctx, p); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, o := range []order.Order{a, b} {
		if got := f.find(o.ID); got.PricedAt != o.PricedAt || got.Status != order.PreReserved || got.Version != 1 || !got.HoldUntil.Equal(o.HoldUntil) {
			t.Errorf("%+v", got)
		}
	}
	f.settleAll()
}

func slotResumed(t *testing.T, f *Fixture) {
	f.plan(cabinet, slot("A1", "cola", 1))
	f.ok(f.AckPlanogram(f.ctx, cabinet, 1))
	fact := f.factAt(cabinet, ledger.SlotFault)
	fact.Body = wire.Encode(wire.Fact{Kind: wire.FactSlotFault, Slot: "A1", Fault: "jammed"})
	f.ok(f.RecordSlotFault(f.ctx, fact, "A1", "jammed"))
	if faults, err := f.SlotFaults(f.ctx); err != nil || len(faults) != 1 || faults[0].SKU != "cola" {
		t.Fatalf("%+v, %v", faults, err)
	}
	if there, err := f.ResumeSlot(f.ctx, cabinet, "A1"); !there || err != nil {
		t.Fatalf("%v, %v", there, err)
	}
	if there, err := f.ResumeSlot(f.ctx, cabinet, "A1"); there || err != nil {
		t.Errorf("again: %v, %v", there, err)
	}
	faults, err := f.SlotFaults(f.ctx)
	if err != nil || len(faults) != 0 || f.count("SELECT COUNT(*) FROM trade_case WHERE status = 'open'") != 0 {
		t.Errorf("%+v, %v", faults, err)
	}
}
