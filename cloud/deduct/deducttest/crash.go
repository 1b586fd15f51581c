package deducttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/deduct"
	"vendline/cloud/order"
	"vendline/lua"
)

// dying fails every script call from the nth on, as a killed process would.
type dying struct{ left int }

var errKilled = errors.New("killed")

func (d *dying) DialHook(next redis.DialHook) redis.DialHook { return next }
func (d *dying) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return next
}
func (d *dying) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() != "evalsha" {
			return next(ctx, cmds) // a connection's first words
		}
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
