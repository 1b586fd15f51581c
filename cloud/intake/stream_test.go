package intake_test

import (
	"context"
	"sync"
	"testing"

	"vendline/shared/wire"
)

// stream sends orders and facts from all cabinets, calls midway after each
// round with the number sent so far, and waits until all are answered.
func stream(t *testing.T, s site, midway func(sent int)) []*cabinet {
	const rounds = 100
	var cabinets []*cabinet
	ctx, cancel := context.WithCancel(t.Context())
	var resends sync.WaitGroup
	defer resends.Wait()
	defer cancel()
	for i := range s.names {
		c := s.cabinet(t, i, nil)
		cabinets = append(cabinets, c)
		resends.Go(func() { c.resend(ctx) })
	}
	for r := range rounds {
		for _, c := range cabinets {
			c.keep(c.order("cola", 1))
			if r%4 == 0 {
				c.keep(c.fact("cola", 1))
			}
		}
		midway((r + 1) * len(cabinets))
	}
	for _, c := range cabinets {
		c.settled()
	}
	return cabinets
}

func checkAll(t *testing.T, shop *shop, cabinets []*cabinet) {
	t.Helper()
	want := map[string]bool{}
	for _, c := range cabinets {
		c.mu.Lock() // duplicates may still come
		defer c.mu.Unlock()
		for seq, vs := range c.verdicts {
			for _, v := range vs {
				if v.Code != wire.Accepted || v.ID != vs[0].ID {
					t.Errorf("%s/%d: verdict %+v", c.id, seq, v)
				}
				want[v.ID] = true
			}
		}
		if n := len(c.verdicts) + len(c.acked); int64(n) != c.seq {
			t.Errorf("%s: %d of %d events answered", c.id, n, c.seq)
		}
	}
	shop.mu.Lock()
	defer shop.mu.Unlock()
	if len(want) != len(shop.orders) {
		t.Errorf("%d orders answered, %d placed", len(want), len(shop.orders))
	}
}
