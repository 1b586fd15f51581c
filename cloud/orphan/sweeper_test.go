package orphan_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/statement"
)

type fakes struct {
	held    map[string][]string // cabinet → ids; nil: not loaded
	verdict map[string]any      // id → orphan.Outcome or error
	settled []string
	drawn   []string
	rebuilt []string
	grace   time.Duration
}

func (f *fakes) Held(_ context.Context, cabinet string, olderThan time.Duration) (out []orphan.Hold, err error) {
	f.grace = olderThan
	if f.held[cabinet] == nil {
		return nil, order.ErrNotLoaded
	}
	for _, id := range f.held[cabinet] {
		out = append(out, orphan.Hold{ID: id, Cabinet: cabinet, Version: 1, Run: order.Run{Generation: "g-" + cabinet}})
	}
	return out, nil
}

func (f *fakes) Settle(_ context.Context, known []statement.Settled) error {
	for _, k := range known {
		f.settled = append(f.settled, k.ID)
	}
	return nil
}

func (f *fakes) Cabinets(context.Context) ([]string, error) { return []string{"C1", "C2", "C3"}, nil }

func (f *fakes) SettleOrphan(_ context.Context, h orphan.Hold) (orphan.Outcome, error) {
	switch v := f.verdict[h.ID].(type) {
	case orphan.Outcome:
		return v, nil
	case error:
		return 0, v
	}
	return orphan.Standing, nil
}

func (f *fakes) Draw(_ context.Context, _, generation string) error {
	f.drawn = append(f.drawn, generation)
	return nil
}

func (f *fakes) Rebuild(_ context.Context, cabinet string) error {
	f.rebuilt = append(f.rebuilt, cabinet)
	return nil
}

func (f *fakes) sweep(t *testing.T) error {
	t.Helper()
	return (&orphan.Sweeper{Stock: f, Ledger: f, Fence: f, Log: slog.New(slog.DiscardHandler)}).Sweep(t.Context())
}

func TestHoldsThatTheLogKnowsLeaveTheListAndNoOthers(t *testing.T) {
	f := &fakes{held: map[string][]string{"C1": {"known", "standing", "orphan"}, "C3": {"known too"}},
		verdict: map[string]any{"known": orphan.Known, "orphan": orphan.Settled, "known too": orphan.Known}}
	if err := f.sweep(t); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.settled, []string{"known", "known too"}) || len(f.drawn)+len(f.rebuilt) != 0 || f.grace != 30*time.Second {
		t.Errorf("settled %v, drawn %v, rebuilt %v", f.settled, f.drawn, f.rebuilt)
	}
}

func TestADoubledTicketFencesAndAStaleGenerationRebuilds(t *testing.T) {
	f := &fakes{held: map[string][]string{"C1": {"doubled", "never asked"}, "C2": {"stale"}},
		verdict: map[string]any{"doubled": order.ErrDoubled, "stale": order.ErrStale, "never asked": orphan.Known}}
	if err := f.sweep(t); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.drawn, []string{"g-C1"}) || !slices.Equal(f.rebuilt, []string{"C1", "C2"}) || len(f.settled) != 0 {
		t.Errorf("drawn %v, rebuilt %v, settled %v", f.drawn, f.rebuilt, f.settled)
	}
}

func TestAHoldThatFailsHoldsUpNoOtherHoldOrCabinet(t *testing.T) {
	broken := errors.New("broken")
	f := &fakes{held: map[string][]string{"C1": {"bad", "known"}, "C2": {"known too"}},
		verdict: map[string]any{"bad": broken, "known": orphan.Known, "known too": orphan.Known}}
	if err := f.sweep(t); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(f.settled, []string{"known", "known too"}) {
		t.Errorf("settled %v", f.settled)
	}
}

func TestOnlyCabinetsThatHaveSomethingAreSwept(t *testing.T) {
	f := &fakes{held: map[string][]string{"C1": {"known"}, "C2": {"unasked"}}, verdict: map[string]any{"known": orphan.Known, "unasked": orphan.Known}}
	s := &orphan.Sweeper{Stock: f, Ledger: f, Fence: f, Grace: time.Minute, Log: slog.New(slog.DiscardHandler),
		Waiting: func(_ context.Context, all []string, olderThan time.Duration) ([]string, error) {
			if !slices.Equal(all, []string{"C1", "C2", "C3"}) || olderThan != time.Minute {
				t.Errorf("asked for %v, older than %v", all, olderThan)
			}
			return []string{"C1"}, nil
		}}
	if err := s.Sweep(t.Context()); err != nil || !slices.Equal(f.settled, []string{"known"}) {
		t.Errorf("settled %v, %v", f.settled, err)
	}
	away := errors.New("away")
	s.Waiting = func(context.Context, []string, time.Duration) ([]string, error) { return nil, away }
	if err := s.Sweep(t.Context()); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
}
