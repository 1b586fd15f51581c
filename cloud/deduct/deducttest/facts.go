package deducttest

import (
	"errors"
	"fmt"

	"vendline/cloud/deduct"
	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

func facts() []Promise {
	return []Promise{
		{"a fact counts once, and its replay hears the first ticket", adjustTwice},
		{"a sale that happened counts below zero", adjustBelowZero},
		{"a fact that a rebuild counted is not counted again", adjustLoaded},
		{"a fact that is none is refused", adjustMalformed},
		{"facts and baskets draw from one row of tickets", adjustTickets},
		{"a repair is applied once, to a stock that stands still", repairs},
	}
}

func adjustTwice(t T, f *Fixture) {
	generation := f.load(units{"cola": 5})
	deltas := []effect.Delta{{SKU: "cola", Units: 10}, {SKU: "new.one", Units: 3}}
	want := order.Run{Generation: generation, Ticket: 1}
	for range 3 {
		if got := f.adjust("f1", deltas...); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	f.left(units{"cola": 15, "new.one": 3})
	f.take("o1", 1, item("new.one", 3))
}

func adjustBelowZero(_ T, f *Fixture) {
	f.load(units{"cola": 1})
	f.adjust("f1", effect.Delta{SKU: "cola", Units: -3})
	f.left(units{"cola": -2})
	f.refuse(wire.CodeStockShort, f.basket("o1", 1, item("cola", 1)))
	f.adjust("f2", effect.Delta{SKU: "cola", Units: 3})
	f.take("o1", 1, item("cola", 1))
}

func adjustLoaded(t T, f *Fixture) {
	f.loadSnapshot(&fence.Snapshot{Sellable: units{"cola": 15}, Done: []string{"f1"}})
	if got := f.adjust("f1", effect.Delta{SKU: "cola", Units: 10}); got.Ticket != 0 {
		t.Errorf("drew ticket %d", got.Ticket)
	}
	f.left(units{"cola": 15})
	f.load(units{"cola": 5}) // a rebuild that does not know the fact
	f.adjust("f1", effect.Delta{SKU: "cola", Units: 10})
	f.left(units{"cola": 15})
}

func adjustMalformed(t T, f *Fixture) {
	f.load(units{"cola": 5})
	f.take("o1", 1, item("cola", 1))
	before := f.everything()
	for code, a := range map[wire.Code]effect.Adjust{
		wire.CodeInvalidRequest:      {ID: "f1", Deltas: []effect.Delta{{SKU: "cola", Units: 1}, {SKU: "#mut", Units: 1}}},
		wire.CodeIdempotencyConflict: {ID: "o1", Deltas: []effect.Delta{{SKU: "cola", Units: 1}}},
	} {
		a.Cabinet = f.Cabinet
		var no *order.Refusal
		if got := f.Stock.Adjust(t.Context(), []effect.Adjust{a})[0]; !errors.As(got.Err, &no) || no.Code != code {
			t.Errorf("%+v: got %v, want %s", a, got.Err, code)
		}
	}
	if got := f.Stock.Adjust(t.Context(), []effect.Adjust{{ID: "f2", Cabinet: f.Cabinet}})[0]; got.Err == nil {
		t.Error("a fact without units was applied")
	}
	if after := f.everything(); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("changed\n%v to\n%v", before, after)
	}
}

func adjustTickets(t T, f *Fixture) {
	f.load(units{"cola": 5})
	for i := range int64(6) {
		var ticket int64
		if id := fmt.Sprint(i); i%2 == 0 {
			ticket = f.take(id, 1, item("cola", 1)).Ticket
		} else {
			ticket = f.adjust(id, effect.Delta{SKU: "cola", Units: 1}).Ticket
		}
		if ticket != i+1 {
			t.Errorf("ticket %d, want %d", ticket, i+1)
		}
	}
}

func repairs(t T, f *Fixture) {
	f.load(units{"cola": 5})
	v := f.look()
	r := deduct.Repair{ID: "r1", Cabinet: f.Cabinet, Generation: v.Generation, Mutations: v.Mutations,
		Deltas: []effect.Delta{{SKU: "cola", Units: -2}}}
	for range 3 {
		if err := f.Stock.Repair(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	f.left(units{"cola": 3})
	if got := f.look(); got.Mutations != v.Mutations+1 {
		t.Errorf("counter %d, want %d", got.Mutations, v.Mutations+1)
	}
	r.ID = "r2" // found on the same look: something has changed since
	if err := f.Stock.Repair(t.Context(), r); !errors.Is(err, deduct.ErrMoved) {
		t.Errorf("a stale finding: %v", err)
	}
	v = f.look()
	f.load(units{"cola": 3})
	r.Mutations = f.look().Mutations
	if err := f.Stock.Repair(t.Context(), r); !errors.Is(err, deduct.ErrMoved) {
		t.Errorf("a finding of another generation: %v", err)
	}
	f.left(units{"cola": 3})
}
