package deducttest

import (
	"errors"
	"fmt"

	"vendline/cloud/effect"
	"vendline/cloud/order"
)

func reads() []Promise {
	return []Promise{
		{"a snapshot shows stock, holds and the markers asked for", snapshotShows},
		{"reading changes nothing", readingIsQuiet},
		{"many cabinets are read at once, and one not loaded is missing", sellableMany},
	}
}

func snapshotShows(t T, f *Fixture) {
	generation := f.load(units{"cola": 5, "tea": 1})
	f.take("o1", 1, item("cola", 2))
	f.take("o2", 1, item("cola", 1))
	f.settle("o2", 1)
	f.adjust("f1", effect.Delta{SKU: "tea", Units: -3})
	v := f.look("o2", "f1", "nobody")
	if v.Generation != generation || fmt.Sprint(v.Sellable) != "map[cola:2 tea:-2]" || len(v.Reserved) != 1 {
		t.Errorf("snapshot %+v", v)
	}
	if want := "map[f1:{done 1 3  [{tea -3}] } o1:{held 1 1 ann [{cola 2}] } o2:{held 1 2 ann [{cola 1}] }]"; fmt.Sprint(v.Marks) != want {
		t.Errorf("markers %v, want %s", v.Marks, want)
	}
	if got := fmt.Sprint(v.Mutations); got != f.stored("#mut") {
		t.Errorf("counter %s, stored %s", got, f.stored("#mut"))
	}
	if _, err := f.Stock.Snapshot(t.Context(), "T-nowhere"); !errors.Is(err, order.ErrNotLoaded) {
		t.Errorf("elsewhere: %v", err)
	}
}

func readingIsQuiet(t T, f *Fixture) {
	f.load(units{"cola": 5})
	f.take("o1", 1, item("cola", 2))
	before := fmt.Sprint(f.everything())
	f.look("o1", "o2")
	if _, err := f.Stock.Held(t.Context(), f.Cabinet, 0); err != nil {
		t.Error(err)
	}
	if _, err := f.Stock.Sellable(t.Context(), f.Cabinet); err != nil {
		t.Error(err)
	}
	if err := f.Stock.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if after := fmt.Sprint(f.everything()); after != before {
		t.Errorf("reading changed\n%s to\n%s", before, after)
	}
}

func sellableMany(t T, f *Fixture) {
	other := f.sibling("-a")
	f.load(units{"cola": 5})
	other.load(units{"tea": 0})
	got, err := f.Stock.SellableMany(t.Context(), []string{f.Cabinet, "T-nowhere", other.Cabinet})
	want := map[string]units{f.Cabinet: {"cola": 5}, other.Cabinet: {"tea": 0}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v %v, want %v", got, err, want)
	}
	if got, err := f.Stock.SellableMany(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("of none: %v %v", got, err)
	}
}
