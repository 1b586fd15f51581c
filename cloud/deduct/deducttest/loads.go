package deducttest

import (
	"errors"

	"vendline/cloud/deduct"
	"vendline/cloud/fence"
	"vendline/lua"
	"vendline/shared/wire"
)

func loads() []Promise {
	return []Promise{
		{"a load replaces everything", loadReplaces},
		{"a generation is loaded once", loadOnce},
		{"a load that dies at any step leaves the cabinet fenced", loadCrash},
		{"the counter rises across loads, and across loads that died", loadCounter},
		{"two loads at once never mix", loadRace},
		{"a load with a bad row never appears", loadBadRow},
	}
}

func loadReplaces(t T, f *Fixture) {
	f.load(units{"cola": 5, "old": 1})
	f.take("o1", 1, item("cola", 1))
	f.take("o2", 1, item("old", 1))
	generation := f.load(units{"cola": 7}, fence.Mark{ID: "o1", Held: true, Version: 2, User: "ann", Lines: []wire.Line{{SKU: "cola", Qty: 1}}})
	f.left(units{"cola": 7})
	if got, err := f.Stock.Generation(t.Context(), f.Cabinet); err != nil || got != generation {
		t.Errorf("generation %q %v, want %q", got, err, generation)
	}
	v := f.look("o1", "o2")
	if _, known := v.Marks["o2"]; known || len(v.Reserved) != 0 || v.Marks["o1"].Version != 2 {
		t.Errorf("after the load: %+v", v)
	}
	if got := f.take("o1", 2, item("cola", 1)); !got.Seen || got.Ticket != 0 {
		t.Errorf("a loaded order's replay heard %+v", got)
	}
	if f.stored(lua.FieldLoad) != "" {
		t.Error("the load's own token is left behind")
	}
}

func loadOnce(t T, f *Fixture) {
	snap := fence.Snapshot{Sellable: units{"cola": 5}}
	f.loadSnapshot(&snap)
	f.take("o1", 1, item("cola", 1))
	if err := f.Stock.Load(t.Context(), snap); !errors.Is(err, deduct.ErrLoaded) {
		t.Errorf("got %v, want ErrLoaded", err)
	}
	f.left(units{"cola": 4})
}

func loadCounter(t T, f *Fixture) {
	var last int64
	for i := range 4 {
		if i == 2 {
			snap := full(1)
			f.complete(&snap)
			if err := f.mortal(&dying{left: 2}).Load(t.Context(), snap); err == nil {
				t.Fatal("the load lived")
			}
		}
		f.load(units{"cola": 5})
		if v := f.look(); v.Mutations <= last {
			t.Errorf("counter %d after %d", v.Mutations, last)
		}
		f.take("o1", 1, item("cola", 1))
		last = f.look().Mutations
	}
}

func loadBadRow(t T, f *Fixture) {
	f.load(units{"cola": 5})
	snap := fence.Snapshot{Sellable: units{"cola": 5, "#ticket": 7}}
	f.complete(&snap)
	if err := f.Stock.Load(t.Context(), snap); err == nil {
		t.Error("a reserved field was loaded as a SKU")
	}
	for _, generation := range []string{"", "a|b"} {
		if err := f.Stock.Load(t.Context(), fence.Snapshot{Cabinet: f.Cabinet, Generation: generation}); err == nil {
			t.Errorf("loaded under %q", generation)
		}
	}
	f.fenced(t, "after a bad row")
}
