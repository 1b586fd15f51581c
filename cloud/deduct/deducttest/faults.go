package deducttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"vendline/cloud/deduct"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

func faults() []Promise {
	return []Promise{
		{"a Redis that lost its scripts gets them again, and each basket is taken once", scriptsLost},
		{"an order whose reply was lost is taken once, and its retry hears yes", replyLost},
		{"many callers on one SKU never oversell", crowd},
		{"one order sent many times at once is taken once", sameOrderCrowd},
		{"a caller who leaves gets an error, not a wrong answer", callerLeaves},
	}
}

func scriptsLost(t T, f *Fixture) {
	f.load(units{"cola": 1000})
	var all sync.WaitGroup
	for i := range 100 {
		if i%20 == 0 {
			f.Redis.ScriptFlush(t.Context())
		}
		all.Go(func() {
			if _, err := f.Stock.Deduct(t.Context(), f.basket(fmt.Sprint("o", i), 1, item("cola", 1))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	f.left(units{"cola": 900})
	f.Redis.ScriptFlush(t.Context())
	f.release("o1", 2, wire.Line{SKU: "cola", Qty: 1})
	f.left(units{"cola": 901})
}

func replyLost(t T, f *Fixture) {
	f.load(units{"cola": 10})
	f.take("warm", 1, item("cola", 1)) // the script is known
	proxy := newProxy(t, f.node())
	rdb, err := deduct.Open(t.Context(), "redis://"+proxy.addr, deduct.Servers{Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := deduct.New(rdb, deduct.Options{Now: f.Clock.Now, Scripts: f.Rig.Scripts})
	t.Cleanup(func() {
		s.Close()
		_ = rdb.Close()
	})
	proxy.mute.Store(true)
	var no *order.Refusal
	if _, err := s.Deduct(t.Context(), f.basket("o1", 1, item("cola", 2))); err == nil || errors.As(err, &no) || errors.Is(err, order.ErrNotLoaded) {
		t.Fatalf("a lost reply was told as %v", err)
	}
	if n := proxy.carried.Load(); n != 1 {
		t.Errorf("the basket was sent %d times", n)
	}
	f.left(units{"cola": 7}) // it ran
	proxy.mute.Store(false)
	if got, err := s.Deduct(t.Context(), f.basket("o1", 1, item("cola", 2))); err != nil || !got.Seen || got.Ticket != 2 {
		t.Errorf("the retry heard %+v %v", got, err)
	}
	f.left(units{"cola": 7})
}

func crowd(t T, f *Fixture) {
	const callers, stock = 200, 150
	f.load(units{"cola": stock})
	var yes, no atomic.Int64
	tickets := make([]atomic.Int64, stock+1)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			got, err := f.Stock.Deduct(t.Context(), f.basket(fmt.Sprint("o", i), 1, item("cola", 1)))
			var refused *order.Refusal
			switch {
			case err == nil:
				yes.Add(1)
				if got.Ticket < 1 || got.Ticket > stock || tickets[got.Ticket].Add(1) > 1 {
					t.Errorf("ticket %d is drawn twice or out of row", got.Ticket)
				}
			case errors.As(err, &refused) && refused.Code == wire.CodeStockShort:
				no.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if yes.Load() != stock || no.Load() != callers-stock {
		t.Errorf("%d admitted, %d refused", yes.Load(), no.Load())
	}
	f.left(units{"cola": 0})
}

func sameOrderCrowd(t T, f *Fixture) {
	generation := f.load(units{"cola": 1})
	var first atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			got, err := f.Stock.Deduct(t.Context(), f.basket("o1", 1, item("cola", 1)))
			if err != nil || got.Run != (order.Run{Generation: generation, Ticket: 1}) {
				t.Errorf("%+v %v", got, err)
			}
			if !got.Seen {
				first.Add(1)
			}
		})
	}
	all.Wait()
	if first.Load() != 1 {
		t.Errorf("%d were told to be the first", first.Load())
	}
	f.left(units{"cola": 0})
}

func callerLeaves(t T, f *Fixture) {
	f.load(units{"cola": 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := f.Stock.Deduct(ctx, f.basket("o1", 1, item("cola", 1))); err == nil && got.Generation == "" {
		t.Errorf("heard %+v without an error", got)
	}
	f.take("o1", 1, item("cola", 1))
	f.left(units{"cola": 0})
}
