package order_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

func TestAnOrderIsPricedMergedAndSorted(t *testing.T) {
	f := newFakes()
	got, _, err := f.service().Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1}, wire.Line{SKU: "chips", Qty: 2}, wire.Line{SKU: "cola", Qty: 1}))
	if err != nil {
		t.Fatal(err)
	}
	want := order.Order{ID: freshID, Cabinet: "C1", User: "ann", Status: order.PreReserved, Version: 1, Amount: 1100, Currency: "EUR",
		Lines:     []order.Line{{SKU: "chips", Qty: 2, Price: 300, State: order.LinePending}, {SKU: "cola", Qty: 2, Price: 250, State: order.LinePending}},
		CreatedAt: f.now, ExpiresAt: f.now.Add(15 * time.Minute), HoldUntil: f.now.Add(15 * time.Minute)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAReplayHearsTheFirstReplyWhateverHasBecomeOfTheOrder(t *testing.T) {
	for name, become := range map[string]func(*fakes, *order.Service, order.Order) error{
		"still held": func(*fakes, *order.Service, order.Order) error { return nil },
		"paid": func(_ *fakes, s *order.Service, o order.Order) error {
			_, err := s.Pay(context.Background(), o.ID)
			return err
		},
		"cancelled": func(_ *fakes, s *order.Service, o order.Order) error {
			_, err := s.Cancel(context.Background(), o.ID)
			return err
		},
		"price changed": func(f *fakes, _ *order.Service, _ order.Order) error {
			f.products["cola"] = order.Product{SKU: "cola", Price: 999, Currency: "JPY"}
			return nil
		},
		"product gone":  func(f *fakes, _ *order.Service, _ order.Order) error { delete(f.products, "cola"); return nil },
		"two days pass": func(f *fakes, _ *order.Service, _ order.Order) error { f.now = f.now.Add(48 * time.Hour); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			f, s, first := placed(t)
			if err := become(f, s, first); err != nil {
				t.Fatal(err)
			}
			deducts := f.deducts
			got, replay, err := s.Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1}))
			if err != nil || !replay || !reflect.DeepEqual(got, first) {
				t.Errorf("replay %v, %v\ngot   %+v\nfirst %+v", replay, err, got, first)
			}
			if (name == "product gone" || name == "two days pass") && f.deducts != deducts {
				t.Error("stock was asked though its marker may be gone")
			}
		})
	}
}

func TestAnIDKeepsItsFirstContent(t *testing.T) {
	for name, change := range map[string]func(*order.Request){
		"other basket":  func(r *order.Request) { r.Lines = []wire.Line{{SKU: "cola", Qty: 2}} },
		"other cabinet": func(r *order.Request) { r.Cabinet = "C2" },
		"other shopper": func(r *order.Request) { r.User = "bob" },
	} {
		f, s, first := placed(t)
		r := f.request(wire.Line{SKU: "cola", Qty: 1})
		change(&r)
		_, _, err := s.Place(t.Context(), r)
		var no *order.Refusal
		if !errors.As(err, &no) || no.Code != wire.CodeIdempotencyConflict {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := s.Get(t.Context(), first.ID); !reflect.DeepEqual(got, first) {
			t.Errorf("%s: the first order became %+v", name, got)
		}
	}
}

func TestAnAttemptSettledAsAnOrphanIsToldSo(t *testing.T) {
	f, s, o := placed(t)
	f.change(o.ID, func(o *order.Order) { o.Orphan, o.Status, o.Version = true, order.RolledBack, 2 })
	_, _, err := s.Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1}))
	var no *order.Refusal
	if !errors.As(err, &no) || no.Code != wire.CodeOrderReleased {
		t.Errorf("got %v", err)
	}
}

func TestAnImpossibleRequestTakesNothing(t *testing.T) {
	cola := []wire.Line{{SKU: "cola", Qty: 1}}
	for _, c := range []struct {
		code wire.Code
		r    order.Request
	}{
		{wire.CodeInvalidRequest, order.Request{ID: "no uuid", Cabinet: "C1", User: "ann", Lines: cola}},
		{wire.CodeInvalidRequest, order.Request{ID: strings.ToUpper(freshID), Cabinet: "C1", User: "ann", Lines: cola}},
		{wire.CodeInvalidRequest, order.Request{ID: freshID, Cabinet: "C/1", User: "ann", Lines: cola}},
		{wire.CodeInvalidRequest, order.Request{ID: freshID, Cabinet: "C1", User: "", Lines: cola}},
		{wire.CodeInvalidRequest, order.Request{ID: freshID, Cabinet: "C1", User: "ann"}},
		{wire.CodeInvalidRequest, order.Request{ID: freshID, Cabinet: "C1", User: "ann", Lines: []wire.Line{{SKU: "cola", Qty: -5}}}},
		{wire.CodeInvalidRequest, order.Request{ID: freshID, Cabinet: "C1", User: "ann", Lines: []wire.Line{{SKU: "cola", Qty: 1}, {SKU: "sake", Qty: 1}}}},
		{wire.CodeSKUUnknown, order.Request{ID: freshID, Cabinet: "C1", User: "ann", Lines: []wire.Line{{SKU: "gum", Qty: 1}}}},
	} {
		f := newFakes()
		_, _, err := f.service().Place(t.Context(), c.r)
		var no *order.Refusal
		if !errors.As(err, &no) || no.Code != c.code || f.deducts+f.places != 0 {
			t.Errorf("%+v: %v after %d deducts", c.r, err, f.deducts)
		}
	}
}

func TestEndingAnOrderTwiceIsNoErrorAndTheOtherEndIs(t *testing.T) {
	_, s, o := placed(t)
	for range 2 {
		if got, err := s.Pay(t.Context(), o.ID); err != nil || got.Status != order.Consumed || got.Version != 2 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	var refused *order.StateError
	if _, err := s.Cancel(t.Context(), o.ID); !errors.As(err, &refused) {
		t.Errorf("a paid order was cancelled: %v", err)
	}
	if _, err := s.Cancel(t.Context(), order.IDFromKey("none")); !errors.Is(err, order.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestExpireEndsWhatIsDueAndNothingElse(t *testing.T) {
	f, s, o := placed(t)
	ids := []string{o.ID, order.IDFromKey("none")}
	f.now = o.HoldUntil.Add(-time.Millisecond)
	if n, err := s.Expire(t.Context(), ids); n != 0 || err != nil {
		t.Errorf("early: %d, %v", n, err)
	}
	f.now = o.HoldUntil
	if n, err := s.Expire(t.Context(), ids); n != 1 || err != nil {
		t.Errorf("due: %d, %v", n, err)
	}
	if n, err := s.Expire(t.Context(), ids); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	f.move = func(int, *order.Change) error { return errAway }
	if _, err := s.Expire(t.Context(), ids); !errors.Is(err, errAway) {
		t.Errorf("a ledger that is away: %v", err)
	}
}

func TestWaitEndsWithTheOrderNotWithTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, o := placed(t)
		begun := time.Now()
		go func() {
			time.Sleep(300 * time.Millisecond)
			paid, err := s.Pay(context.Background(), o.ID)
			if err == nil {
				s.Watcher.Publish([]order.Order{paid})
			}
		}()
		got, err := s.Wait(t.Context(), o.ID, 20*time.Second)
		if err != nil || got.Status != order.Consumed || time.Since(begun) != 300*time.Millisecond {
			t.Errorf("%s after %v, %v", got.Status, time.Since(begun), err)
		}
	})
}

func TestWaitFindsAChangeMadeElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, o := placed(t)
		go func() {
			time.Sleep(1500 * time.Millisecond)
			_, _ = s.Cancel(context.Background(), o.ID) // and nobody here is told
		}()
		if got, err := s.Wait(t.Context(), o.ID, 20*time.Second); err != nil || got.Status != order.RolledBack {
			t.Errorf("%s, %v", got.Status, err)
		}
	})
}

func TestWaitGivesUpInTimeAndWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, o := placed(t)
		if got, err := s.Wait(t.Context(), o.ID, 2*time.Second); err != nil || got.Status != order.PreReserved {
			t.Errorf("%s, %v", got.Status, err)
		}
		if _, err := s.Wait(t.Context(), order.IDFromKey("none"), 2*time.Second); !errors.Is(err, order.ErrUnknown) {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Wait(ctx, o.ID, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestATapHearsWhatIsPublishedUntilItStops(t *testing.T) {
	w := order.NewWatcher()
	orders, stop := w.Tap()
	for range 1000 { // a slow reader never blocks the publisher
		w.Publish([]order.Order{{ID: freshID}})
	}
	if o := <-orders; o.ID != freshID {
		t.Errorf("heard %+v", o)
	}
	stop()
	for len(orders) > 0 {
		<-orders
	}
	w.Publish([]order.Order{{ID: freshID}})
	if len(orders) != 0 {
		t.Error("heard after the stop")
	}
}
