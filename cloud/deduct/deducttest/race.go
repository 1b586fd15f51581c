package deducttest

import (
	"errors"
	"fmt"
	"sync"

	"vendline/cloud/deduct"
	"vendline/cloud/fence"
	"vendline/lua"
	"vendline/shared/wire"
)

// full is a snapshot that takes several chunks of every kind.
func full(stamp int64) fence.Snapshot {
	snap := fence.Snapshot{Sellable: make(units)}
	for i := range lua.MaxStock + 1 {
		snap.Sellable[fmt.Sprint("sku", i)] = stamp
	}
	for i := range 2*lua.MaxMarks + 1 {
		snap.Marks = append(snap.Marks, fence.Mark{ID: fmt.Sprint("o", i), Held: true, Version: stamp, User: fmt.Sprint("u", i),
			Lines: []wire.Line{{SKU: "sku0", Qty: 1}}, Unknown: true, Limited: true, At: 1})
	}
	snap.Done = []string{"f1"}
	return snap
}

func loadRace(t T, f *Fixture) {
	for range 5 {
		snaps := []fence.Snapshot{full(1), full(2), full(3)}
		errs := make([]error, len(snaps))
		var all sync.WaitGroup
		for i := range snaps {
			f.complete(&snaps[i])
			all.Go(func() { errs[i] = f.Stock.Load(t.Context(), snaps[i]) })
		}
		all.Wait()
		generation, err := f.Stock.Generation(t.Context(), f.Cabinet)
		if err != nil {
			t.Fatal(err)
		}
		winner := -1
		for i, err := range errs {
			if err != nil && !errors.Is(err, deduct.ErrMoved) {
				t.Errorf("load %d: %v", i, err)
			}
			if snaps[i].Generation == generation {
				winner = i
			}
		}
		if winner < 0 || errs[winner] != nil {
			t.Fatalf("loaded is %q, the loads heard %v", generation, errs)
		}
		f.unmixed(t, int64(winner+1))
	}
}

// unmixed checks that the stock is that of full(stamp), in every part.
func (f *Fixture) unmixed(t T, stamp int64) {
	t.Helper()
	want := full(stamp)
	v := f.look("f1")
	if len(v.Sellable) != len(want.Sellable) || len(v.Marks) != len(want.Marks)+1 || len(v.Reserved) != len(want.Marks) {
		t.Errorf("%d SKUs, %d markers, %d reserved", len(v.Sellable), len(v.Marks), len(v.Reserved))
	}
	for sku, n := range v.Sellable {
		if n != stamp {
			t.Errorf("%s is %d, of another load", sku, n)
		}
	}
	for id, r := range v.Reserved {
		if r.Version != stamp || v.Marks[id].Version != stamp {
			t.Errorf("%s is reserved at %d and marked at %d, of another load", id, r.Version, v.Marks[id].Version)
		}
	}
	for i := range want.Marks {
		key := lua.KeysOf(f.Cabinet, "", fmt.Sprint("u", i)).Limit
		if got := f.Redis.HGet(t.Context(), key, lua.FieldGeneration).Val(); got != v.Generation {
			t.Errorf("%s is of generation %q, want %q", key, got, v.Generation)
		}
	}
}
