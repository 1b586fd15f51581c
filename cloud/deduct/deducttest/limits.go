package deducttest

import (
	"fmt"
	"time"

	"vendline/cloud/fence"
	"vendline/lua"
	"vendline/shared/wire"
)

func limits() []Promise {
	return []Promise{
		{"a shopper cannot pass the limit over several orders", limitOverOrders},
		{"a limit is each shopper's own", limitPerUser},
		{"a retry does not count twice towards the limit", limitRetry},
		{"a release gives the limit back, once", limitGivenBack},
		{"a release gives nothing back to a later 24 hours", limitOtherWindow},
		{"a limit ends after 24 hours", limitEnds},
		{"a load rebuilds limits", limitLoaded},
		{"a limit of another generation counts as empty", limitOtherGeneration},
	}
}

func limitOverOrders(t T, f *Fixture) {
	f.load(units{"cola": 100, "tea": 100})
	f.take("o1", 1, atMost(3, "cola", 2))
	no := f.refuse(wire.CodePurchaseLimit, f.basket("o2", 1, atMost(3, "cola", 2)))
	if want := "cola: at most 3 units in 24 hours, 2 of them used"; no.Detail != want {
		t.Errorf("detail %q, want %q", no.Detail, want)
	}
	f.refuse(wire.CodePurchaseLimit, f.basket("o3", 1, item("tea", 50), atMost(3, "cola", 2)))
	f.take("o4", 1, atMost(3, "cola", 1), item("tea", 50))
	f.refuse(wire.CodePurchaseLimit, f.basket("o5", 1, atMost(3, "cola", 1)))
	f.refuse(wire.CodePurchaseLimit, f.basket("o6", 1, atMost(1, "cola", 2)))
	f.left(units{"cola": 97, "tea": 50})
}

func limitPerUser(t T, f *Fixture) {
	f.load(units{"cola": 10})
	for _, user := range []string{"ann", "bob"} {
		b := f.basket("of-"+user, 1, atMost(2, "cola", 2))
		b.User = user
		if _, err := f.Stock.Deduct(t.Context(), b); err != nil {
			t.Errorf("%s: %v", user, err)
		}
	}
}

func limitRetry(_ T, f *Fixture) {
	f.load(units{"cola": 10})
	for version := range int64(4) {
		f.take("o1", version+1, atMost(2, "cola", 2)) // held, and held again under a newer version
		f.take("o1", version+1, atMost(2, "cola", 2))
	}
	f.refuse(wire.CodePurchaseLimit, f.basket("o2", 1, atMost(2, "cola", 1)))
}

func limitGivenBack(_ T, f *Fixture) {
	f.load(units{"cola": 10, "tea": 10})
	lines := []wire.Line{{SKU: "cola", Qty: 2}, {SKU: "tea", Qty: 1}}
	f.take("o1", 1, atMost(2, "cola", 2), item("tea", 1))
	for range 3 {
		f.release("o1", 2, lines...)
	}
	f.take("o2", 1, atMost(2, "cola", 2))
	f.refuse(wire.CodePurchaseLimit, f.basket("o3", 1, atMost(2, "cola", 1)))
	f.refuse(wire.CodePurchaseLimit, f.basket("o1", 3, atMost(2, "cola", 2), item("tea", 1))) // its retry counts again
	f.release("o2", 2, wire.Line{SKU: "cola", Qty: 2})
	f.take("o1", 3, atMost(2, "cola", 2), item("tea", 1))
	f.left(units{"cola": 8, "tea": 9})
}

func limitOtherWindow(t T, f *Fixture) {
	f.load(units{"cola": 10})
	f.take("o1", 1, atMost(2, "cola", 2))
	f.Redis.Del(t.Context(), lua.KeysOf(f.Cabinet, "", "ann").Limit) // as its expiry does
	f.Clock.Pass(25 * time.Hour)
	f.take("o2", 1, atMost(2, "cola", 2))
	f.release("o1", 2, wire.Line{SKU: "cola", Qty: 2})
	f.refuse(wire.CodePurchaseLimit, f.basket("o3", 1, atMost(2, "cola", 1)))
}

func limitEnds(t T, f *Fixture) {
	f.load(units{"cola": 10})
	for i := range 2 { // the second must not prolong the first one's day
		f.take(fmt.Sprint("o", i), 1, atMost(9, "cola", 1))
		ttl := f.Redis.TTL(t.Context(), lua.KeysOf(f.Cabinet, "", "ann").Limit).Val()
		if ttl <= 0 || ttl > 24*time.Hour {
			t.Errorf("the limit ends in %v", ttl)
		}
		if i == 0 {
			f.Redis.Expire(t.Context(), lua.KeysOf(f.Cabinet, "", "ann").Limit, time.Hour)
		} else if ttl > time.Hour {
			t.Errorf("the limit was prolonged to %v", ttl)
		}
	}
}

func limitLoaded(t T, f *Fixture) {
	f.load(units{"cola": 10})
	at := f.Clock.Now().Add(-23 * time.Hour).UnixMilli()
	lines := []wire.Line{{SKU: "cola", Qty: 2}}
	f.load(units{"cola": 10},
		fence.Mark{ID: "o1", Held: true, Version: 1, User: "ann", Lines: lines, At: at, Limited: true},
		fence.Mark{ID: "o2", Held: true, Version: 1, User: "ann", Lines: lines, At: at},  // too old
		fence.Mark{ID: "o3", Held: false, Version: 2, User: "ann", Lines: lines, At: at}, // given back
		fence.Mark{ID: "o4", Held: true, Version: 1, User: "bob", Lines: lines, At: at, Limited: true})
	if ttl := f.Redis.TTL(t.Context(), lua.KeysOf(f.Cabinet, "", "ann").Limit).Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("a limit begun 23 hours ago ends in %v", ttl)
	}
	f.refuse(wire.CodePurchaseLimit, f.basket("o5", 1, atMost(3, "cola", 2)))
	f.release("o2", 2, lines...) // was not counted: gives nothing back
	f.refuse(wire.CodePurchaseLimit, f.basket("o5", 1, atMost(3, "cola", 2)))
	f.release("o1", 2, lines...)
	f.take("o5", 1, atMost(3, "cola", 3))
}

func limitOtherGeneration(_ T, f *Fixture) {
	f.load(units{"cola": 10, "tea": 10})
	f.take("gone", 1, atMost(3, "cola", 2), item("tea", 1)) // no order has come of it when the rebuild looks
	f.load(units{"cola": 10, "tea": 10})
	f.take("o1", 1, atMost(3, "cola", 2))
	f.refuse(wire.CodePurchaseLimit, f.basket("o2", 1, atMost(3, "cola", 2)))
	f.release("gone", 2, wire.Line{SKU: "cola", Qty: 2}, wire.Line{SKU: "tea", Qty: 1})
	f.refuse(wire.CodePurchaseLimit, f.basket("o2", 1, atMost(3, "cola", 2)))
	f.take("o2", 1, atMost(1, "tea", 1))
}
