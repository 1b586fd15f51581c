package deducttest

import (
	"errors"
	"fmt"

	"vendline/cloud/effect"
	"vendline/cloud/order"
	"vendline/cloud/reconcile"
)

func freezes() []Promise {
	return []Promise{
		{"a frozen cabinet answers nobody but who reads it, and goes on as it was after the thaw", frozenAnswers},
		{"only its own freezer thaws, and nobody freezes twice", frozenOwner},
		{"a load ends a freeze, and the late thaw changes nothing", frozenLoaded},
		{"of many cabinets those that are loaded are viewed", viewsLoaded},
	}
}

func frozenAnswers(t T, f *Fixture) {
	f.load(units{"sku0": 5})
	f.take("o1", 1, item("sku0", 2))
	before := f.look("o1")
	v, ok, err := f.Stock.Freeze(t.Context(), f.Cabinet, "token")
	if err != nil || !ok || v.Sellable["sku0"] != 3 || v.Generation != before.Generation || v.Mutations != before.Mutations || fmt.Sprint(v.Reserved) != "[o1]" {
		t.Fatalf("frozen as %+v, %v, %v", v, ok, err)
	}
	f.silent(t, "frozen")
	res := f.Stock.Adjust(t.Context(), []effect.Adjust{{ID: "f1", Cabinet: f.Cabinet, Deltas: []effect.Delta{{SKU: "sku0", Units: 1}}}})
	if !errors.Is(res[0].Err, order.ErrNotLoaded) {
		t.Errorf("an adjust heard %v", res[0].Err)
	}
	if err := f.Stock.Mend(t.Context(), reconcile.Repair{ID: "r1", Cabinet: f.Cabinet, Generation: v.Generation, Mutations: v.Mutations, Deltas: []reconcile.Units{{SKU: "sku0", Units: 1}}}); !errors.Is(err, reconcile.ErrMoved) {
		t.Errorf("a repair heard %v", err)
	}
	if err := f.Stock.Thaw(t.Context(), f.Cabinet, "token"); err != nil {
		t.Fatalf("thaw: %v", err)
	}
	after := f.look("o1")
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("it came back as %+v, was %+v", after, before)
	}
	f.take("o2", 1, item("sku0", 3))
}

func frozenOwner(t T, f *Fixture) {
	f.load(units{"sku0": 5})
	if _, ok, err := f.Stock.Freeze(t.Context(), f.Cabinet, "one"); !ok || err != nil {
		t.Fatalf("freeze: %v, %v", ok, err)
	}
	if _, ok, err := f.Stock.Freeze(t.Context(), f.Cabinet, "two"); ok || err != nil {
		t.Errorf("frozen twice: %v, %v", ok, err)
	}
	if err := f.Stock.Thaw(t.Context(), f.Cabinet, "two"); !errors.Is(err, reconcile.ErrMoved) {
		t.Errorf("somebody else thaws it: %v", err)
	}
	f.silent(t, "still frozen")
	for _, want := range []error{nil, reconcile.ErrMoved} {
		if err := f.Stock.Thaw(t.Context(), f.Cabinet, "one"); !errors.Is(err, want) {
			t.Errorf("thaw: %v, want %v", err, want)
		}
	}
}

func frozenLoaded(t T, f *Fixture) {
	f.load(units{"sku0": 5})
	if _, ok, err := f.Stock.Freeze(t.Context(), f.Cabinet, "one"); !ok || err != nil {
		t.Fatalf("freeze: %v, %v", ok, err)
	}
	generation := f.load(units{"sku0": 7})
	if err := f.Stock.Thaw(t.Context(), f.Cabinet, "one"); !errors.Is(err, reconcile.ErrMoved) {
		t.Errorf("the late thaw: %v", err)
	}
	if v := f.look(); v.Generation != generation || v.Sellable["sku0"] != 7 {
		t.Errorf("after it: %+v", v)
	}
}

func viewsLoaded(t T, f *Fixture) {
	f.load(units{"sku0": 5})
	f.take("o1", 1, item("sku0", 2))
	missing := f.Cabinet + "x"
	views, err := f.Stock.Views(t.Context(), []string{missing, f.Cabinet})
	if v := views[f.Cabinet]; err != nil || len(views) != 1 || v.Sellable["sku0"] != 3 || fmt.Sprint(v.Reserved) != "[o1]" {
		t.Errorf("views %+v, %v", views, err)
	}
	marks, err := f.Stock.MarksOf(t.Context(), map[string][]string{missing: {"o1"}, f.Cabinet: {"o1", "nobody"}})
	m := marks[f.Cabinet]
	if err != nil || len(marks) != 1 || len(m.ByID) != 1 || !m.ByID["o1"].Held || m.ByID["o1"].Version != 1 || m.Mutations != views[f.Cabinet].Mutations {
		t.Errorf("marks %+v, %v", marks, err)
	}
	waiting, err := f.Stock.Waiting(t.Context(), []string{missing, f.Cabinet}, 0)
	if err != nil || fmt.Sprint(waiting) != "["+f.Cabinet+"]" {
		t.Errorf("waiting %v, %v", waiting, err)
	}
}

// silent checks that nobody takes from the cabinet or hears what it sells.
func (f *Fixture) silent(t T, when string) {
	t.Helper()
	if _, err := f.Stock.Deduct(t.Context(), f.basket("x", 1, item("sku0", 1))); !errors.Is(err, order.ErrNotLoaded) {
		t.Errorf("%s: deduct heard %v", when, err)
	}
	if _, err := f.Stock.Sellable(t.Context(), f.Cabinet); !errors.Is(err, order.ErrNotLoaded) {
		t.Errorf("%s: sellable heard %v", when, err)
	}
}
