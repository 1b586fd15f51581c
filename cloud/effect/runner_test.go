package effect_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"vendline/cloud/effect"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

// fakes are Redis, the ledger and the fence of a runner.
type fakes struct {
	run      func(n int, id string) effect.Result // n counts pipelines from 1
	finish   func(n int, runs []effect.Ran) error
	pipes    int
	finished []string // rows
	runs     []effect.Ran
	buried   []string // rows
	deleted  []string
	drawn    []string // "cabinet generation"
	rebuilt  []string
}

func (f *fakes) result(id string) effect.Result {
	if f.run == nil {
		return effect.Result{Run: order.Run{Generation: "g.f"}}
	}
	return f.run(f.pipes, id)
}

func (f *fakes) Release(_ context.Context, rs []effect.Release) (out []effect.Result) {
	f.pipes++
	for _, r := range rs {
		out = append(out, f.result(r.ID))
	}
	return out
}

func (f *fakes) Adjust(_ context.Context, as []effect.Adjust) (out []effect.Result) {
	f.pipes++
	for _, a := range as {
		out = append(out, f.result(a.ID))
	}
	return out
}

func (f *fakes) FinishEffects(_ context.Context, row string, runs []effect.Ran) error {
	if f.finish != nil {
		if err := f.finish(f.pipes, runs); err != nil {
			return err
		}
	}
	f.finished, f.runs = append(f.finished, row), runs
	return nil
}

func (f *fakes) Bury(_ context.Context, source, _ string, _ []byte, meta map[string]string) error {
	f.buried = append(f.buried, source+" "+meta["row"])
	return nil
}

func (f *fakes) Delete(_ context.Context, ids ...string) error {
	f.deleted = append(f.deleted, ids...)
	return nil
}

func (f *fakes) Draw(_ context.Context, cabinet, generation string) error {
	f.drawn = append(f.drawn, cabinet+" "+generation)
	return nil
}

func (f *fakes) Rebuild(_ context.Context, cabinet string) error {
	f.rebuilt = append(f.rebuilt, cabinet)
	return nil
}

func release(id string) effect.Effect {
	return effect.Effect{Release: &effect.Release{ID: id, Cabinet: "C1", Version: 2, Lines: []wire.Line{{SKU: "cola", Qty: 1}}}}
}

func adjust(id string) effect.Effect {
	return effect.Effect{Adjust: &effect.Adjust{ID: id, Cabinet: "C2", Deltas: []effect.Delta{{SKU: "cola", Units: 1}}}}
}

func row(id string, es ...effect.Effect) outbox.Row {
	return outbox.Row{ID: id, Kind: outbox.KindRedis, Payload: effect.Encode(es)}
}

func (f *fakes) carry(t *testing.T, rows ...outbox.Row) error {
	t.Helper()
	return (&effect.Runner{Stock: f, Ledger: f, Fence: f}).Carry(t.Context(), rows)
}

func TestEffectsRunThenCount(t *testing.T) {
	f := &fakes{}
	if err := f.carry(t, row("a", adjust("f1"), release("o1"), release("o2"))); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range f.runs {
		ids = append(ids, r.Cabinet+" "+r.ID+" "+r.Run.Generation)
	}
	if !slices.Equal(ids, []string{"C1 o1 g.f", "C1 o2 g.f", "C2 f1 g.f"}) || !slices.Equal(f.finished, []string{"a"}) || f.pipes != 2 {
		t.Errorf("runs %v in %d pipelines, finished %v", ids, f.pipes, f.finished)
	}
}

func TestARowOnAFencedCabinetRunsAgainAfterTheRebuild(t *testing.T) {
	f := &fakes{run: func(n int, _ string) effect.Result {
		if n == 1 {
			return effect.Result{Err: order.ErrNotLoaded}
		}
		return effect.Result{Run: order.Run{Generation: "g2.f"}}
	}}
	if err := f.carry(t, row("a", release("o1"))); err != nil || len(f.finished) != 1 {
		t.Errorf("%v, finished %v", err, f.finished)
	}
	if !slices.Equal(f.rebuilt, []string{"C1"}) || len(f.drawn) != 0 {
		t.Errorf("rebuilt %v, drawn %v", f.rebuilt, f.drawn)
	}
}

func TestARowThatDoesNotCountRunsAgain(t *testing.T) {
	f := &fakes{finish: func(n int, runs []effect.Ran) error {
		switch n {
		case 1:
			return &effect.StaleError{Cabinets: []string{"C1"}}
		case 2:
			return &effect.StaleError{Cabinets: []string{"C1"}, Doubled: runs}
		}
		return nil
	}}
	if err := f.carry(t, row("a", release("o1"))); err != nil || len(f.finished) != 1 {
		t.Errorf("%v, finished %v", err, f.finished)
	}
	if len(f.rebuilt) != 2 || !slices.Equal(f.drawn, []string{"C1 g.f"}) {
		t.Errorf("rebuilt %v, drawn %v", f.rebuilt, f.drawn)
	}
}

func TestAnUnknownOutcomeIsAnErrorAndCostsItsRowOnly(t *testing.T) {
	away := errors.New("timeout")
	f := &fakes{run: func(_ int, id string) effect.Result {
		if id == "o1" {
			return effect.Result{Err: away}
		}
		return effect.Result{}
	}}
	if err := f.carry(t, row("a", release("o1")), row("b", release("o2"))); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(f.finished, []string{"b"}) || len(f.rebuilt) != 0 {
		t.Errorf("finished %v, rebuilt %v", f.finished, f.rebuilt)
	}
}

func TestAStockThatNeverSettlesLeavesTheRowToThePoll(t *testing.T) {
	f := &fakes{finish: func(int, []effect.Ran) error { return &effect.StaleError{Cabinets: []string{"C1"}} }}
	var stale *effect.StaleError
	if err := f.carry(t, row("a", release("o1"))); !errors.As(err, &stale) || f.pipes != 6 || len(f.deleted)+len(f.buried) != 0 {
		t.Errorf("%v after %d tries", err, f.pipes)
	}
}

func TestARefusedEffectIsRebuiltOnceThenBuried(t *testing.T) {
	no := &order.Refusal{Code: wire.CodeIdempotencyConflict}
	f := &fakes{run: func(n int, _ string) effect.Result {
		if n == 1 {
			return effect.Result{Run: order.Run{Generation: "g.f"}, Err: no}
		}
		return effect.Result{}
	}}
	if err := f.carry(t, row("a", release("o1"))); err != nil || len(f.finished) != 1 || !slices.Equal(f.drawn, []string{"C1 g.f"}) {
		t.Errorf("%v, finished %v, drawn %v", err, f.finished, f.drawn)
	}
	f = &fakes{run: func(_ int, id string) effect.Result {
		if id == "o1" {
			return effect.Result{Run: order.Run{Generation: "g.f"}, Err: no}
		}
		return effect.Result{}
	}}
	if err := f.carry(t, row("a", release("o1")), row("b", release("o2"))); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.buried, []string{"effect a"}) || !slices.Equal(f.deleted, []string{"a"}) || !slices.Equal(f.finished, []string{"b"}) || len(f.rebuilt) != 1 {
		t.Errorf("buried %v, deleted %v, finished %v, rebuilt %v", f.buried, f.deleted, f.finished, f.rebuilt)
	}
}

func TestAnUnreadableRowIsBuriedAndHoldsUpNobody(t *testing.T) {
	for _, payload := range []string{"{", "null!", `[{}]`, `[{"release":{"id":"o"},"adjust":{"id":"f"}}]`} {
		f := &fakes{}
		if err := f.carry(t, outbox.Row{ID: "a", Payload: []byte(payload)}, row("b", release("o1"))); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(f.buried, []string{"effect a"}) || !slices.Equal(f.deleted, []string{"a"}) || !slices.Equal(f.finished, []string{"b"}) {
			t.Errorf("%s: buried %v, deleted %v, finished %v", payload, f.buried, f.deleted, f.finished)
		}
	}
}
