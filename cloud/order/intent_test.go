package order_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// TakeIn keeps a pending order as the ledger would.
func (f *fakes) TakeIn(_ context.Context, o *order.Order) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.orders[o.ID]; ok {
		return order.ErrExists
	}
	f.orders[o.ID] = *o
	return nil
}

func (f *fakes) Refuse(_ context.Context, r *order.Refused) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.orders[r.ID]
	if !o.Pending() {
		return &order.StateError{Order: o}
	}
	o.Version = order.RefusedVersion
	f.orders[r.ID] = o
	return nil
}

// peak is a service that takes orders in.
func (f *fakes) peak() *order.Service {
	s := f.service()
	s.Intents, s.Room = f, &order.Room{}
	return s
}

func cola(n int) wire.Line { return wire.Line{SKU: "cola", Qty: n} }

func TestAnIntentIsPricedAndTakesNothing(t *testing.T) {
	f := newFakes()
	s := f.peak()
	o, replay, err := s.TakeIn(t.Context(), f.request(cola(2)), order.Wishes{Patience: time.Hour})
	if err != nil || replay || !o.Pending() || o.Amount != 500 || !o.HoldUntil.IsZero() {
		t.Fatalf("%+v, replay %v, %v", o, replay, err)
	}
	if want := f.now.Add(order.MaxPatience); !o.Intent.DecideBy.Equal(want) {
		t.Errorf("patience until %v, want %v", o.Intent.DecideBy, want)
	}
	if f.deducts+f.places != 0 {
		t.Error("something was taken")
	}
	f.products["cola"] = order.Product{SKU: "cola", Price: 999, Currency: "EUR"}
	if err := s.Admit(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if got := f.orders[o.ID]; got.Status != order.PreReserved || got.Version != 1 || got.Amount != 500 {
		t.Errorf("stands as %+v", got)
	}
}

func TestAnIntentHearsItsFirstAnswerAgain(t *testing.T) {
	for name, become := range map[string]func(*fakes, *order.Service, order.Order){
		"pending": func(*fakes, *order.Service, order.Order) {},
		"placed":  func(_ *fakes, s *order.Service, o order.Order) { _ = s.Admit(context.Background(), o) },
		"refused": func(f *fakes, _ *order.Service, o order.Order) {
			_ = f.Refuse(context.Background(), &order.Refused{ID: o.ID})
		},
		"sold out": func(f *fakes, _ *order.Service, _ order.Order) { f.shelf("cola", 0) },
		"full":     func(_ *fakes, s *order.Service, _ order.Order) { s.Room.Set(1<<40, true) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakes()
			s := f.peak()
			w := order.Wishes{Callback: "https://shop.example/"}
			first, _, err := s.TakeIn(t.Context(), f.request(cola(1)), w)
			if err != nil {
				t.Fatal(err)
			}
			become(f, s, first)
			again, replay, err := s.TakeIn(t.Context(), f.request(cola(1)), w)
			if !errors.Is(err, order.ErrTakenIn) || !replay || !reflect.DeepEqual(again, first) {
				t.Errorf("again: %+v %+v, %v", again, again.Intent, err)
			}
			if plain, _, err := s.Place(t.Context(), f.request(cola(1))); !errors.Is(err, order.ErrTakenIn) || !reflect.DeepEqual(plain, first) {
				t.Errorf("without the preference: %+v, %v", plain, err)
			}
			var no *order.Refusal
			if _, _, err := s.TakeIn(t.Context(), f.request(cola(2)), w); !errors.As(err, &no) || no.Code != wire.CodeIdempotencyConflict {
				t.Errorf("another basket: %v", err)
			}
			if _, _, err := s.TakeIn(t.Context(), f.request(cola(1)), order.Wishes{}); !errors.As(err, &no) || no.Code != wire.CodeIdempotencyConflict {
				t.Errorf("nobody to call: %v", err)
			}
		})
	}
}

func TestAKeyThatWasPlacedAtOnceStaysSo(t *testing.T) {
	f := newFakes()
	s := f.peak()
	first, _, err := s.Place(t.Context(), f.request(cola(1)))
	if err != nil {
		t.Fatal(err)
	}
	again, replay, err := s.TakeIn(t.Context(), f.request(cola(1)), order.Wishes{})
	if err != nil || !replay || !reflect.DeepEqual(again, first) {
		t.Errorf("%+v, replay %v, %v", again, replay, err)
	}
}

func TestNoMoreWaitThanThereIsRoomFor(t *testing.T) {
	f := newFakes()
	s := f.peak()
	s.Room.Most = 1
	if _, _, err := s.TakeIn(t.Context(), f.request(cola(1)), order.Wishes{}); err != nil {
		t.Fatal(err)
	}
	var no *order.Refusal
	if _, _, err := s.TakeIn(t.Context(), buy("bob", cola(1)), order.Wishes{}); !errors.As(err, &no) || no.Code != wire.CodeOverloaded {
		t.Errorf("one too many: %v", err)
	}
	s.Room.Set(0, true)
	if _, _, err := s.TakeIn(t.Context(), buy("bob", cola(1)), order.Wishes{}); err != nil {
		t.Errorf("room again: %v", err)
	}
}

// An effect on Redis counts only under a current generation and its own ticket.
func TestAnAdmissionStartsOverUntilItCounts(t *testing.T) {
	f := newFakes()
	s := f.peak()
	o, _, err := s.TakeIn(t.Context(), f.request(cola(1)), order.Wishes{})
	if err != nil {
		t.Fatal(err)
	}
	f.move = func(n int, c *order.Change) error {
		switch n {
		case 1:
			return order.ErrStale
		case 2:
			return order.ErrDoubled
		}
		if c.Event != order.PreDeduct || c.Run.Ticket != 3 {
			t.Errorf("change %+v", c)
		}
		return nil
	}
	if err := s.Admit(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if f.deducts != 3 || len(f.rebuilt) != 2 || len(f.drawn) != 1 {
		t.Errorf("%d deducts, rebuilt %v, drawn %v", f.deducts, f.rebuilt, f.drawn)
	}
}

// Died after the deduct: the next attempt goes on with the run of the first.
func TestAnAdmissionGoesOnWithWhatADeadOneTook(t *testing.T) {
	f := newFakes()
	s := f.peak()
	o, _, err := s.TakeIn(t.Context(), f.request(cola(1)), order.Wishes{})
	if err != nil {
		t.Fatal(err)
	}
	f.deduct = func(int, order.Basket) (order.Taken, error) {
		return order.Taken{Run: order.Run{Generation: "g.f", Ticket: 7}, Seen: true}, nil
	}
	f.move = func(_ int, c *order.Change) error {
		if c.Run.Ticket != 7 {
			t.Errorf("run %+v", c.Run)
		}
		return nil
	}
	if err := s.Admit(t.Context(), o); err != nil || f.orders[o.ID].Status != order.PreReserved {
		t.Errorf("%v, stands at %s", err, f.orders[o.ID].Status)
	}
}

func TestAWaitForAnIntentEndsWithItsOutcome(t *testing.T) {
	for name, decide := range map[string]func(*fakes, *order.Service, order.Order){
		"placed": func(_ *fakes, s *order.Service, o order.Order) { _ = s.Admit(context.Background(), o) },
		"refused": func(f *fakes, _ *order.Service, o order.Order) {
			_ = f.Refuse(context.Background(), &order.Refused{ID: o.ID})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakes()
			s := f.peak()
			o, _, err := s.TakeIn(t.Context(), f.request(cola(1)), order.Wishes{})
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(3*time.Second, func() { decide(f, s, o) })
			begun := time.Now()
			got, err := s.Wait(t.Context(), o.ID, time.Minute)
			if took := time.Since(begun); err != nil || got.Pending() || took > 5*time.Second {
				t.Errorf("%s: %+v after %v, %v", name, got, took, err)
			}
		})
	}
}
