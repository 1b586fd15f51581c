package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func generations() []promise {
	return []promise{
		{"a snapshot counts what step 8 has not seen", snapshotExact},
		{"a snapshot remembers orders at their versions, and pending facts as done", snapshotMarks},
		{"a snapshot of an old cabinet remembers what the log has not seen", snapshotOld},
		{"a stock that is current is left alone", rebuildCurrent},
		{"a load that fails leaves the old generation", rebuildFails},
		{"a death between load and commit leaves the old generation", rebuildDies},
		{"a placement that waited for a rebuild is stale", rebuildRace},
		{"every rebuild draws another token", rebuildFresh},
		{"drawing twice for one generation draws once", drawTwice},
		{"the fleet's token makes every cabinet stale", drawFleet},
		{"a cabinet that does not exist cannot be rebuilt", rebuildNowhere},
	}
}

func snapshotExact(t *testing.T, f *Fixture) {
	gone := f.place(line("cola", 1))
	f.move(gone.ID, order.Timeout)
	f.place(line("chips", 2))
	f.settleAll()
	f.Pass(time.Minute)
	f.place(line("cola", 2))
	f.record(statement.Sale, wire.Line{SKU: "cola", Qty: 1})
	f.record(statement.Restock, wire.Line{SKU: "cola", Qty: 5})
	s := f.load(cabinet)
	if want := map[string]int64{"cola": 12, "chips": 8}; !Same(s.Sellable, want) {
		t.Errorf("sellable %v, want %v", s.Sellable, want)
	}
	f.settleAll()
}

func snapshotMarks(t *testing.T, f *Fixture) {
	known := f.place(line("cola", 1))
	f.settleAll()
	unknown := f.place(line("cola", 2))
	released := f.place(line("chips", 1))
	f.move(released.ID, order.Timeout)
	fact := f.record(statement.Restock, wire.Line{SKU: "cola", Qty: 5})
	f.Pass(time.Second)
	s := f.load(cabinet)
	at := known.CreatedAt.UnixMilli()
	want := []fence.Mark{
		{ID: known.ID, Held: true, Version: 1, User: "ann", Lines: []wire.Line{{SKU: "cola", Qty: 1}}, At: at, Limited: true},
		{ID: unknown.ID, Held: true, Version: 1, User: "ann", Lines: []wire.Line{{SKU: "cola", Qty: 2}}, At: unknown.CreatedAt.UnixMilli(), Unknown: true, Limited: true},
		{ID: released.ID, Version: 2, User: "ann", Lines: []wire.Line{{SKU: "chips", Qty: 1}}, At: released.CreatedAt.UnixMilli()},
	}
	slices.SortFunc(s.Marks, func(a, b fence.Mark) int { return strings.Compare(a.ID, b.ID) })
	if !reflect.DeepEqual(s.Marks, want) {
		t.Errorf("marks %+v\nwant  %+v", s.Marks, want)
	}
	if !slices.Equal(s.Done, []string{fact.ID}) || s.At != f.Now().UnixMilli() || s.Cabinet != cabinet {
		t.Errorf("snapshot %+v", s)
	}
	f.settleAll()
}

func snapshotOld(t *testing.T, f *Fixture) {
	old := f.place(line("cola", 1))
	f.settleAll()
	f.Pass(time.Hour)
	waits := f.place(line("cola", 2))
	f.Pass(25 * time.Hour)
	s := f.load(cabinet)
	if len(s.Marks) != 1 || s.Marks[0].ID != waits.ID || !s.Marks[0].Unknown || s.Marks[0].Limited {
		t.Errorf("marks %+v; %s is known and old", s.Marks, old.ID)
	}
	f.settleAll()
	if s := f.load(cabinet); len(s.Marks) != 0 {
		t.Errorf("marks %+v", s.Marks)
	}
}

func rebuildCurrent(t *testing.T, f *Fixture) {
	before := f.current(cabinet)
	err := f.Rebuild(f.ctx, cabinet,
		func(_ context.Context, g string) (bool, error) { return g == before, nil },
		func(context.Context, fence.Snapshot) error { t.Error("loaded"); return nil })
	f.ok(err)
	if f.current(cabinet) != before {
		t.Error("a token was drawn")
	}
}

func rebuildFails(t *testing.T, f *Fixture) {
	before := f.current(cabinet)
	broken := errors.New("redis is away")
	err := f.Rebuild(f.ctx, cabinet, stale, func(context.Context, fence.Snapshot) error { return broken })
	if !errors.Is(err, broken) || f.current(cabinet) != before {
		t.Errorf("%v; generation %s, was %s", err, f.current(cabinet), before)
	}
	err = f.Rebuild(f.ctx, cabinet, func(context.Context, string) (bool, error) { return false, broken }, nil)
	if !errors.Is(err, broken) || f.current(cabinet) != before {
		t.Errorf("%v; generation %s, was %s", err, f.current(cabinet), before)
	}
	f.place(line("cola", 1))
	f.settleAll()
}

func rebuildDies(t *testing.T, f *Fixture) {
	before := f.current(cabinet)
	ctx, cancel := context.WithCancel(f.ctx)
	var loaded fence.Snapshot
	err := f.Rebuild(ctx, cabinet, stale, func(_ context.Context, s fence.Snapshot) error {
		loaded = s
		cancel()
		return nil
	})
	if err == nil || f.current(cabinet) != before {
		t.Errorf("%v; generation %s, was %s", err, f.current(cabinet), before)
	}
	// What runs under the token that MySQL never heard of does not count.
	p := f.placement(f.order(line("cola", 1)))
	p.Run.Generation = loaded.Generation
	if err := f.Place(f.ctx, p); !errors.Is(err, order.ErrStale) {
		t.Errorf("got %v", err)
	}
	f.load(cabinet)
}

// rebuildRace: a placement under way while the snapshot is read is either in
// the snapshot or refused.
func rebuildRace(t *testing.T, f *Fixture) {
	for range 5 {
		p := f.placement(f.order(line("cola", 1)))
		placed := make(chan error, 1)
		var s fence.Snapshot
		f.ok(f.Rebuild(f.ctx, cabinet, stale, func(_ context.Context, got fence.Snapshot) error {
			s = got
			go func() { placed <- f.Place(f.ctx, p) }()
			return nil
		}))
		if err := <-placed; !errors.Is(err, order.ErrStale) {
			t.Errorf("placed under the rebuild: %v, snapshot %v", err, s.Sellable)
		}
		f.gens[cabinet] = s.Generation
	}
}

// rebuildAlone: while one cabinet is being rebuilt, a group that touches it too
// commits what it has for the others.
func rebuildAlone(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 5})
	before := f.current(cabinet)
	f.ok(f.Rebuild(f.ctx, cabinet, stale, func(ctx context.Context, s fence.Snapshot) error {
		p := f.placement(f.order(line("cola", 1)))
		p.Run.Generation = before
		if err := f.Place(ctx, p); !errors.Is(err, order.ErrStale) {
			t.Errorf("at the cabinet under rebuild: %v", err)
		}
		f.ok(f.Place(ctx, f.placement(f.orderAt("C2", line("cola", 1)))))
		f.gens[cabinet] = s.Generation
		return nil
	}))
	f.settleAll()
}

func rebuildFresh(t *testing.T, f *Fixture) {
	seen := map[string]bool{}
	for range 5 {
		g := f.load(cabinet).Generation
		if seen[g] || g != f.current(cabinet) {
			t.Errorf("generation %s; seen %v, current %s", g, seen, f.current(cabinet))
		}
		seen[g] = true
	}
}

func drawTwice(t *testing.T, f *Fixture) {
	before := f.current(cabinet)
	f.ok(f.Draw(f.ctx, cabinet, before))
	drawn := f.current(cabinet)
	f.ok(f.Draw(f.ctx, cabinet, before))
	if drawn == before || f.current(cabinet) != drawn {
		t.Errorf("%s, then %s, then %s", before, drawn, f.current(cabinet))
	}
}

func drawFleet(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 1})
	one, two := f.placement(f.order(line("cola", 1))), f.placement(f.orderAt("C2", line("cola", 1)))
	f.ok(f.DrawFleet(f.ctx))
	for _, p := range []*order.Placement{one, two} {
		if err := f.Place(f.ctx, p); !errors.Is(err, order.ErrStale) {
			t.Errorf("got %v", err)
		}
	}
	if f.load(cabinet); f.gens[cabinet] != f.current(cabinet) {
		t.Error("a rebuild is not under the fleet's new token")
	}
}

func rebuildNowhere(t *testing.T, f *Fixture) {
	err := f.Rebuild(f.ctx, "C404", stale, func(context.Context, fence.Snapshot) error { return nil })
	f.refusal(err, wire.CodeCabinetUnknown)
	_, err = f.Sellable(f.ctx, "C404")
	f.refusal(err, wire.CodeCabinetUnknown)
	if got := fmt.Sprint(f.load(cabinet).Sellable); got != "map[chips:10 cola:10]" {
		t.Errorf("sellable %s", got)
	}
}
