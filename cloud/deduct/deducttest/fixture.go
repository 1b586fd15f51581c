package deducttest

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/deduct"
	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/lua"
	"vendline/shared/wire"
)

// Fixture is a stock, and one cabinet of it that nobody else uses.
type Fixture struct {
	Rig     Rig
	Stock   *deduct.Stock
	Redis   redis.UniversalClient
	Cabinet string
	Clock   *Clock
	t       T
}

// Clock is a time that only moves when told to.
type Clock struct{ ms atomic.Int64 }

// Now is what the stock takes for the time.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// Pass moves the time on.
func (c *Clock) Pass(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// NewFixture opens the rig's server; the cabinet is not loaded yet.
func NewFixture(t T, rig Rig) *Fixture {
	t.Helper()
	rdb, err := deduct.Open(context.Background(), "redis://"+rig.Addr, rig.Servers)
	if err != nil {
		t.Fatal(err)
	}
	clock := new(Clock)
	clock.ms.Store(1_700_000_000_000)
	s := deduct.New(rdb, deduct.Options{Now: clock.Now, Scripts: rig.Scripts})
	t.Cleanup(func() {
		s.Close()
		_ = rdb.Close()
	})
	return &Fixture{Rig: rig, Stock: s, Redis: rdb, Cabinet: "T-" + rand.Text()[:12], Clock: clock, t: t}
}

// units is stock by SKU.
type units = map[string]int64

// load loads the cabinet under a new generation and returns it.
func (f *Fixture) load(sellable units, marks ...fence.Mark) string {
	f.t.Helper()
	snap := fence.Snapshot{Sellable: sellable, Marks: marks}
	f.loadSnapshot(&snap)
	return snap.Generation
}

// loadSnapshot completes and loads a snapshot.
func (f *Fixture) loadSnapshot(snap *fence.Snapshot) {
	f.t.Helper()
	f.complete(snap)
	if err := f.Stock.Load(f.t.Context(), *snap); err != nil {
		f.t.Fatal(err)
	}
}

func (f *Fixture) complete(snap *fence.Snapshot) {
	snap.Cabinet, snap.At = f.Cabinet, f.Clock.Now().UnixMilli()
	snap.Generation = rand.Text()[:8] + ".f"
}

// basket makes a basket of SKU, quantity pairs for the user ann.
func (f *Fixture) basket(id string, version int64, items ...order.Item) order.Basket {
	return order.Basket{ID: id, Version: version, Cabinet: f.Cabinet, User: "ann", Items: items}
}

func item(sku string, qty int) order.Item { return order.Item{SKU: sku, Qty: qty} }

func atMost(limit int, sku string, qty int) order.Item {
	return order.Item{SKU: sku, Qty: qty, Limit: limit}
}

// take takes a basket that must be admitted.
func (f *Fixture) take(id string, version int64, items ...order.Item) order.Taken {
	f.t.Helper()
	got, err := f.Stock.Deduct(f.t.Context(), f.basket(id, version, items...))
	if err != nil {
		f.t.Fatalf("deduct %s v%d: %v", id, version, err)
	}
	return got
}

// refuse takes a basket that must be refused, and changes nothing.
func (f *Fixture) refuse(code wire.Code, b order.Basket) *order.Refusal {
	f.t.Helper()
	before := f.everything()
	_, err := f.Stock.Deduct(f.t.Context(), b)
	var no *order.Refusal
	if !errors.As(err, &no) || no.Code != code {
		f.t.Fatalf("deduct %s: got %v, want refusal %s", b.ID, err, code)
	}
	if after := f.everything(); !maps.Equal(before, after) {
		f.t.Errorf("a refusal changed\n%v to\n%v", before, after)
	}
	return no
}

// release gives a hold back.
func (f *Fixture) release(id string, version int64, lines ...wire.Line) order.Run {
	f.t.Helper()
	got := f.Stock.Release(f.t.Context(), []effect.Release{{ID: id, Cabinet: f.Cabinet, User: "ann", Version: version, Lines: lines}})[0]
	if got.Err != nil {
		f.t.Fatalf("release %s v%d: %v", id, version, got.Err)
	}
	return got.Run
}

// adjust applies a fact.
func (f *Fixture) adjust(id string, deltas ...effect.Delta) order.Run {
	f.t.Helper()
	got := f.Stock.Adjust(f.t.Context(), []effect.Adjust{{ID: id, Cabinet: f.Cabinet, Deltas: deltas}})[0]
	if got.Err != nil {
		f.t.Fatalf("adjust %s: %v", id, got.Err)
	}
	return got.Run
}

// settle settles one order.
func (f *Fixture) settle(id string, version int64) {
	f.t.Helper()
	if err := f.Stock.Settle(f.t.Context(), []deduct.Settled{{Cabinet: f.Cabinet, ID: id, Version: version}}); err != nil {
		f.t.Fatal(err)
	}
}

// look reads all that the stock knows.
func (f *Fixture) look(ids ...string) deduct.Snapshot {
	f.t.Helper()
	v, err := f.Stock.Snapshot(f.t.Context(), f.Cabinet, ids...)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

// left checks what can be sold.
func (f *Fixture) left(want units) {
	f.t.Helper()
	got, err := f.Stock.Sellable(f.t.Context(), f.Cabinet)
	if err != nil {
		f.t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		f.t.Errorf("sellable is %v, want %v", got, want)
	}
}

// everything is all keys of the cabinet with their values, as text.
func (f *Fixture) everything() map[string]string {
	f.t.Helper()
	ctx, all := f.t.Context(), make(map[string]string)
	for _, pattern := range []string{"stock:{%}", "resv:{%}", "mark:{%}:*", "limit:{%}:*"} {
		for _, key := range f.keys(pattern) {
			kind := f.Redis.Type(ctx, key).Val()
			if kind == "string" {
				all[key] = f.Redis.Get(ctx, key).Val()
				continue
			}
			for field, value := range f.Redis.HGetAll(ctx, key).Val() {
				all[key+" "+field] = value
			}
		}
	}
	return all
}

// stored is one field of the cabinet's stock hash.
func (f *Fixture) stored(field string) string {
	return f.Redis.HGet(f.t.Context(), lua.KeysOf(f.Cabinet, "", "").Stock, field).Val()
}
