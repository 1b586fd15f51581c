package deducttest

import (
	"errors"

	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

func releases() []Promise {
	return []Promise{
		{"a release moves stock by state and version", releaseMatrix},
		{"a release without a marker adds nothing and stops the late deduct", releaseFirst},
		{"a release under another generation's marker adds nothing", releaseOtherGeneration},
		{"a release gives back what was taken, whoever asks", releaseTaken},
		{"effects answer in order, each for itself", effectsInOrder},
		{"a release of a cabinet that is not loaded waits for the rebuild", releaseNotLoaded},
	}
}

func releaseFirst(t T, f *Fixture) {
	f.load(units{"cola": 5})
	f.release("o1", 2, wire.Line{SKU: "cola", Qty: 2})
	f.left(units{"cola": 5})
	if got := f.take("o1", 1, item("cola", 2)); !got.Seen || !got.Released || got.Ticket != 0 {
		t.Errorf("the late deduct heard %+v", got)
	}
	f.left(units{"cola": 5})
}

func releaseOtherGeneration(t T, f *Fixture) {
	f.load(units{"cola": 5})
	f.take("o1", 1, item("cola", 2))
	generation := f.load(units{"cola": 5}) // the rebuild found no order o1
	if got := f.release("o1", 2, wire.Line{SKU: "cola", Qty: 2}); got.Generation != generation {
		t.Errorf("ran under %q, want %q", got.Generation, generation)
	}
	f.left(units{"cola": 5})
	generation = f.load(units{"cola": 3})
	if got := f.take("o1", 1, item("cola", 2)); got.Seen || got.Run != (order.Run{Generation: generation, Ticket: 1}) {
		t.Errorf("a deduct under a new generation heard %+v", got)
	}
	f.left(units{"cola": 1})
}

func releaseTaken(_ T, f *Fixture) {
	f.load(units{"cola": 5, "tea": 5})
	f.take("o1", 1, item("cola", 2))
	f.release("o1", 2, wire.Line{SKU: "cola", Qty: 4}, wire.Line{SKU: "tea", Qty: 1})
	f.left(units{"cola": 5, "tea": 5})
}

func effectsInOrder(t T, f *Fixture) {
	generation := f.load(units{"cola": 5})
	f.take("o1", 1, item("cola", 1))
	f.adjust("fact", effect.Delta{SKU: "cola", Units: 1})
	lines := []wire.Line{{SKU: "cola", Qty: 1}}
	got := f.Stock.Release(t.Context(), []effect.Release{
		{ID: "o1", Cabinet: f.Cabinet, User: "ann", Version: 2, Lines: lines},
		{ID: "o1", Cabinet: "T-nowhere", User: "ann", Version: 2, Lines: lines},
		{ID: "fact", Cabinet: f.Cabinet, Version: 2, Lines: lines},
		{ID: "o2", Cabinet: f.Cabinet, Version: 0, Lines: lines},
		{ID: "o1", Cabinet: f.Cabinet, User: "ann", Version: 1, Lines: lines},
	})
	want := order.Run{Generation: generation}
	var no *order.Refusal
	switch {
	case got[0].Err != nil || got[0].Run != want:
		t.Errorf("release: %+v", got[0])
	case !errors.Is(got[1].Err, order.ErrNotLoaded):
		t.Errorf("elsewhere: %+v", got[1])
	case !errors.As(got[2].Err, &no) || no.Code != wire.CodeIdempotencyConflict:
		t.Errorf("a fact's id: %+v", got[2])
	case !errors.As(got[3].Err, &no) || no.Code != wire.CodeInvalidRequest:
		t.Errorf("version 0: %+v", got[3])
	case got[4].Err != nil || got[4].Run != want:
		t.Errorf("overtaken: %+v", got[4])
	}
	f.left(units{"cola": 6})
}

func releaseNotLoaded(t T, f *Fixture) {
	lines := []wire.Line{{SKU: "cola", Qty: 2}}
	r := []effect.Release{{ID: "o1", Cabinet: f.Cabinet, User: "ann", Version: 2, Lines: lines}}
	if got := f.Stock.Release(t.Context(), r); !errors.Is(got[0].Err, order.ErrNotLoaded) {
		t.Errorf("got %v, want ErrNotLoaded", got[0].Err)
	}
	f.load(units{"cola": 5}, fence.Mark{ID: "o1", Held: false, Version: 2, User: "ann", Lines: lines})
	if got := f.Stock.Release(t.Context(), r); got[0].Err != nil {
		t.Errorf("after the rebuild: %v", got[0].Err)
	}
	f.left(units{"cola": 5})
}
