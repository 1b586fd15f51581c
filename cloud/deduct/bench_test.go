package deduct_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"vendline/cloud/deduct"
	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/deploy/stack"
)

// BenchmarkDeduct admits baskets of three SKUs to one hot cabinet, from as many
// callers as an API under load has. Every basket is a new order.
func BenchmarkDeduct(b *testing.B) {
	for _, callers := range []int{2, 64, 256} {
		b.Run(fmt.Sprintf("redis/%d callers", callers), func(b *testing.B) {
			admit(b, stack.Need(b).RedisAddr, callers, 0)
		})
	}
	b.Run("redis/256 callers, limited", func(b *testing.B) { admit(b, stack.Need(b).RedisAddr, 256, 999) })
	b.Run("embedded/64 callers", func(b *testing.B) { admit(b, miniredis.RunT(b).Addr(), 64, 0) })
}

func admit(b *testing.B, addr string, callers, limit int) {
	ctx := context.Background()
	rdb, err := deduct.Open(ctx, "redis://"+addr, deduct.Servers{})
	if err != nil {
		b.Fatal(err)
	}
	defer rdb.Close()
	s := deduct.New(rdb, deduct.Options{})
	defer s.Close()
	cabinet := "B-" + rand.Text()[:12]
	const plenty = 1 << 40
	snap := fence.Snapshot{Cabinet: cabinet, Generation: "bench." + cabinet, Sellable: map[string]int64{"cola": plenty, "tea": plenty, "water": plenty}}
	if err := s.Load(ctx, snap); err != nil {
		b.Fatal(err)
	}
	defer forget(ctx, rdb, cabinet)
	items := []order.Item{{SKU: "cola", Qty: 1, Limit: limit}, {SKU: "tea", Qty: 2}, {SKU: "water", Qty: 1}}
	var next atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := next.Add(1)
			got, err := s.Deduct(ctx, order.Basket{ID: fmt.Sprintf("01890000-0000-7000-8000-%012d", n), Version: 1, Cabinet: cabinet,
				User: fmt.Sprintf("user-%d", n/100), Items: items})
			if err != nil || got.Seen {
				b.Errorf("%+v %v", got, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "baskets/s")
}

// forget removes a benchmark's keys from the shared server.
func forget(ctx context.Context, rdb redis.UniversalClient, cabinet string) {
	it := rdb.Scan(ctx, 0, "*{"+cabinet+"}*", 10_000).Iterator()
	var keys []string
	for it.Next(ctx) {
		if keys = append(keys, it.Val()); len(keys) == 1000 {
			rdb.Unlink(ctx, keys...)
			keys = keys[:0]
		}
	}
	if len(keys) > 0 {
		rdb.Unlink(ctx, keys...)
	}
}
