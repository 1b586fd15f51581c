package deducttest

import (
	"fmt"
	"time"

	"vendline/cloud/deduct"
	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/lua"
	"vendline/shared/wire"
)

func settles() []Promise {
	return []Promise{
		{"settle takes known versions off the list, and counts only then", settleVersions},
		{"settle reaches many cabinets and passes over one not loaded", settleMany},
		{"settle carries more orders than one call takes", settleLong},
		{"held lists what is old enough, with what the marker says", heldLists},
	}
}

func settleVersions(t T, f *Fixture) {
	f.load(units{"cola": 5})
	f.take("o1", 3, item("cola", 1))
	for _, step := range []struct {
		version int64
		listed  bool
		counted int64
	}{{2, true, 0}, {3, false, 1}, {3, false, 0}} {
		before := f.look().Mutations
		f.settle("o1", step.version)
		v := f.look()
		if _, listed := v.Reserved["o1"]; listed != step.listed || v.Mutations != before+step.counted {
			t.Errorf("settle v%d: listed %v, counter +%d; want %v, +%d", step.version, listed, v.Mutations-before, step.listed, step.counted)
		}
	}
	if m := f.look("o1").Marks["o1"]; m.State != deduct.Held {
		t.Errorf("settle moved the marker: %+v", m)
	}
}

func settleMany(t T, f *Fixture) {
	var done []deduct.Settled
	all := []*Fixture{f, f.sibling("-a"), f.sibling("-b")}
	for _, c := range all {
		c.load(units{"cola": 5})
		for _, id := range []string{"o1", "o2"} {
			c.take(id, 1, item("cola", 1))
			done = append(done, deduct.Settled{Cabinet: c.Cabinet, ID: id, Version: 1})
		}
	}
	done = append(done, deduct.Settled{Cabinet: "T-nowhere", ID: "o1", Version: 1})
	if err := f.Stock.Settle(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if v := c.look(); len(v.Reserved) != 0 {
			t.Errorf("%s: still listed %v", c.Cabinet, v.Reserved)
		}
	}
	if err := f.Stock.Settle(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func settleLong(t T, f *Fixture) {
	marks := make([]fence.Mark, lua.MaxSettle+500)
	done := make([]deduct.Settled, len(marks))
	for i := range marks {
		id := fmt.Sprint("o", i)
		marks[i] = fence.Mark{ID: id, Held: true, Version: 1, Lines: []wire.Line{{SKU: "cola", Qty: 1}}, Unknown: true}
		done[i] = deduct.Settled{Cabinet: f.Cabinet, ID: id, Version: 1}
	}
	f.load(units{"cola": 5}, marks...)
	if v := f.look(); len(v.Reserved) != len(marks) || len(v.Marks) != len(marks) {
		t.Fatalf("%d reserved, %d markers; want %d", len(v.Reserved), len(v.Marks), len(marks))
	}
	if err := f.Stock.Settle(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	if v := f.look(); len(v.Reserved) != 0 {
		t.Errorf("%d still listed", len(v.Reserved))
	}
}

func heldLists(t T, f *Fixture) {
	generation := f.load(units{"cola": 9, "tea": 9}, fence.Mark{ID: "loaded", Held: true, Version: 5, User: "bob",
		Lines: []wire.Line{{SKU: "tea", Qty: 1}}, Unknown: true, At: f.Clock.Now().UnixMilli() - 1})
	at := f.Clock.Now().UnixMilli()
	f.take("old", 1, item("cola", 2), item("tea", 1))
	f.take("settled", 1, item("cola", 1))
	f.settle("settled", 1)
	f.take("released", 1, item("cola", 1))
	f.release("released", 2, wire.Line{SKU: "cola", Qty: 1})
	f.Clock.Pass(time.Minute)
	f.take("young", 1, item("cola", 1))

	got, err := f.Stock.Held(t.Context(), f.Cabinet, time.Minute)
	if err != nil || len(got) != 2 {
		t.Fatalf("held %+v, %v", got, err)
	}
	if h := got[0]; h.ID != "loaded" || h.Version != 5 || h.User != "bob" || h.Run.Ticket != 0 {
		t.Errorf("first %+v", h)
	}
	h := got[1]
	if h.ID != "old" || h.Cabinet != f.Cabinet || !h.Held || h.Version != 1 || h.User != "ann" || h.At != at ||
		h.Run != (order.Run{Generation: generation, Ticket: 1}) || fmt.Sprint(h.Lines) != "[{cola 2} {tea 1}]" {
		t.Errorf("second %+v", h)
	}
}

// sibling is another cabinet of the same stock.
func (f *Fixture) sibling(suffix string) *Fixture {
	other := *f
	other.Cabinet += suffix
	return &other
}
