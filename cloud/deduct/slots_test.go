package deduct_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"vendline/cloud/deduct"
	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// A cluster refuses a script whose keys lie on two nodes (CROSSSLOT).
func TestEveryKeyOfAScriptLiesInTheCabinetsSlot(t *testing.T) {
	const cabinet = "C-7"
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	seen := &keyWatch{scripts: map[string]bool{}}
	rdb.AddHook(seen)
	s := deduct.New(rdb, deduct.Options{})
	defer s.Close()
	everyScript(t, s, cabinet)

	if len(seen.scripts) != 12 {
		t.Errorf("%d scripts ran, want all 12", len(seen.scripts))
	}
	want := slot("stock:{" + cabinet + "}")
	for _, key := range seen.keys {
		if got := slot(key); got != want {
			t.Errorf("key %q lies in slot %d, the stock in %d", key, got, want)
		}
	}
}

// everyScript makes every script run at least once.
func everyScript(t *testing.T, s *deduct.Stock, cabinet string) {
	ctx := t.Context()
	lines := []wire.Line{{SKU: "cola", Qty: 1}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Load(ctx, fence.Snapshot{Cabinet: cabinet, Generation: "g.f", Sellable: map[string]int64{"cola": 9}, Done: []string{"f0"},
		Marks: []fence.Mark{{ID: "o0", Held: true, Version: 1, User: "{bob}", Lines: lines, Limited: true, Unknown: true}}}))
	_, err := s.Deduct(ctx, order.Basket{ID: "o1", Version: 1, Cabinet: cabinet, User: "}{ann}", Items: []order.Item{{SKU: "cola", Qty: 1, Limit: 5}}})
	must(err)
	must(s.Release(ctx, []effect.Release{{ID: "{o2}", Cabinet: cabinet, User: "{ann", Version: 2, Lines: lines}})[0].Err)
	must(s.Adjust(ctx, []effect.Adjust{{ID: "f1", Cabinet: cabinet, Deltas: []effect.Delta{{SKU: "cola", Units: 1}}}})[0].Err)
	must(s.Settle(ctx, []deduct.Settled{{Cabinet: cabinet, ID: "o0", Version: 1}}))
	v, err := s.Snapshot(ctx, cabinet, "o0", "{f1}")
	must(err)
	must(s.Repair(ctx, deduct.Repair{ID: "r1", Cabinet: cabinet, Generation: v.Generation, Mutations: v.Mutations, Deltas: []effect.Delta{{SKU: "cola", Units: 1}}}))
	_, err = s.Held(ctx, cabinet, 0)
	must(err)
}

// keyWatch notes the keys of every script call.
type keyWatch struct {
	mu      sync.Mutex
	keys    []string
	scripts map[string]bool
}

func (w *keyWatch) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (w *keyWatch) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (w *keyWatch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, c := range cmds {
			w.note(c.Args())
		}
		return next(ctx, cmds)
	}
}

func (w *keyWatch) note(args []any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if args[0] != "evalsha" {
		return
	}
	w.scripts[args[1].(string)] = true
	for _, key := range args[3 : 3+args[2].(int)] {
		if p, isPointer := key.(*string); isPointer {
			key = *p
		}
		w.keys = append(w.keys, key.(string))
	}
}

// slot is the cluster specification's: CRC16 (XMODEM) of what stands in the
// first braces, modulo 16384.
func slot(key string) uint16 {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, closed := strings.Cut(after, "}"); closed && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

func TestSlotsAreThoseOfTheClusterSpecification(t *testing.T) {
	if got := slot("123456789"); got != 0x31C3 {
		t.Errorf("CRC16 of 123456789 is %#x, want 0x31c3", got)
	}
}
