package deducttest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/deduct"
	"vendline/cloud/fence"
	"vendline/cloud/order"
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

// dying fails every command from the nth on, as a killed process would.
type dying struct{ left int }

var errKilled = errors.New("killed")

func (d *dying) DialHook(next redis.DialHook) redis.DialHook { return next }
func (d *dying) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return next
}
func (d *dying) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		alive := min(d.left, len(cmds))
		d.left -= alive
		if alive > 0 {
			if err := next(ctx, cmds[:alive]); err != nil {
				return err
			}
		}
		for _, c := range cmds[alive:] {
			c.SetErr(errKilled)
		}
		return nil
	}
}

func loadCrash(t T, f *Fixture) {
	f.loadSnapshot(new(full(1))) // the scripts are known from here on
	for step := 1; ; step++ {
		snap := full(2)
		f.complete(&snap)
		mortal := f.mortal(&dying{left: step})
		err := mortal.Load(t.Context(), snap)
		if err == nil {
			if step < 8 {
				t.Errorf("the load had only %d steps", step)
			}
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		f.fenced(t, fmt.Sprintf("killed after step %d", step))
	}
	if v := f.look(); v.Sellable["sku0"] != 2 || len(v.Marks) != 2*lua.MaxMarks+1 {
		t.Errorf("the load that lived: %d markers", len(v.Marks))
	}
}

// mortal is the same stock through a client that dies.
func (f *Fixture) mortal(d *dying) *deduct.Stock {
	f.t.Helper()
	rdb, err := deduct.Open(f.t.Context(), "redis://"+f.Rig.Addr, f.Rig.Servers)
	if err != nil {
		f.t.Fatal(err)
	}
	rdb.AddHook(d)
	s := deduct.New(rdb, deduct.Options{Now: f.Clock.Now, Scripts: f.Rig.Scripts})
	f.t.Cleanup(func() {
		s.Close()
		_ = rdb.Close()
	})
	return s
}

// fenced checks that the cabinet answers nobody.
func (f *Fixture) fenced(t T, when string) {
	t.Helper()
	if got, err := f.Stock.Generation(t.Context(), f.Cabinet); got != "" || err != nil {
		t.Errorf("%s: generation %q %v", when, got, err)
	}
	if _, err := f.Stock.Deduct(t.Context(), f.basket("x", 1, item("sku0", 1))); !errors.Is(err, order.ErrNotLoaded) {
		t.Errorf("%s: deduct heard %v", when, err)
	}
	if _, err := f.Stock.Sellable(t.Context(), f.Cabinet); !errors.Is(err, order.ErrNotLoaded) {
		t.Errorf("%s: sellable heard %v", when, err)
	}
	if _, err := f.Stock.Held(t.Context(), f.Cabinet, 0); !errors.Is(err, order.ErrNotLoaded) {
		t.Errorf("%s: held heard %v", when, err)
	}
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

func loadBadRow(t T, f *Fixture) {
	f.load(units{"cola": 5})
	snap := fence.Snapshot{Sellable: units{"cola": 5, "#ticket": 7}}
	f.complete(&snap)
	if err := f.Stock.Load(t.Context(), snap); err == nil {
		t.Error("a reserved field was loaded as a SKU")
	}
	f.fenced(t, "after a bad row")
}
