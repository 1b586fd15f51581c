package order_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

var errAway = errors.New("away")

func taken(generation string, ticket int64) order.Taken {
	return order.Taken{Run: order.Run{Generation: generation, Ticket: ticket}}
}

func TestAPlacementStartsOverUnderAFreshGenerationUntilItCounts(t *testing.T) {
	for _, c := range []struct {
		name    string
		deduct  func(int, order.Basket) (order.Taken, error)
		place   func(int, *order.Placement) error
		deducts int
		rebuilt int
		drawn   []string
		code    wire.Code // "" is accepted
	}{
		{name: "at once", deducts: 1},
		{name: "not loaded yet", deducts: 2, rebuilt: 1, deduct: func(n int, _ order.Basket) (order.Taken, error) {
			if n == 1 {
				return order.Taken{}, order.ErrNotLoaded
			}
			return taken("g2.f", 1), nil
		}},
		{name: "stale when it came to commit", deducts: 2, rebuilt: 1, place: func(n int, _ *order.Placement) error {
			if n == 1 {
				return order.ErrStale
			}
			return nil
		}},
		{name: "ticket drawn twice", deducts: 2, rebuilt: 1, drawn: []string{"g.f"}, place: func(n int, _ *order.Placement) error {
			if n == 1 {
				return order.ErrDoubled
			}
			return nil
		}},
		{name: "stale six times", deducts: 6, rebuilt: 6, code: wire.CodeFenced, place: func(int, *order.Placement) error { return order.ErrStale }},
		{name: "never loaded", deducts: 6, rebuilt: 6, code: wire.CodeFenced, deduct: func(int, order.Basket) (order.Taken, error) { return order.Taken{}, order.ErrNotLoaded }},
		{name: "short", deducts: 1, code: wire.CodeStockShort, deduct: func(int, order.Basket) (order.Taken, error) {
			return order.Taken{}, &order.Refusal{Code: wire.CodeStockShort}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakes()
			f.deduct, f.place = c.deduct, c.place
			_, replay, err := f.service().Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1}))
			var no *order.Refusal
			if errors.As(err, &no) != (c.code != "") || c.code != "" && no.Code != c.code || c.code == "" && err != nil || replay {
				t.Errorf("replay %v, %v", replay, err)
			}
			if f.deducts != c.deducts || len(f.rebuilt) != c.rebuilt || !slices.Equal(f.drawn, c.drawn) {
				t.Errorf("%d deducts, rebuilt %v, drawn %v", f.deducts, f.rebuilt, f.drawn)
			}
			if _, stands := f.orders[freshID]; stands != (c.code == "") {
				t.Errorf("the order stands: %v", stands)
			}
		})
	}
}

func TestStockTakenForAnOrderThatExistsDrawsTheFence(t *testing.T) {
	f, s, first := placed(t)
	got, replay, err := s.Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1}))
	if err != nil || !replay || got.ID != first.ID {
		t.Errorf("replay %v, %v", replay, err)
	}
	if !slices.Equal(f.drawn, []string{"g.f"}) {
		t.Errorf("drawn %v: Redis has taken the basket twice", f.drawn)
	}
}

// Both taps were in flight at once: the one that saw the marker committed first.
func TestTheLaterOfTwoTapsDrawsNoFence(t *testing.T) {
	f := newFakes()
	f.deduct = func(int, order.Basket) (order.Taken, error) { return taken("g.f", 7), nil }
	s := f.service()
	for _, replayed := range []bool{false, true} {
		if _, replay, err := s.Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1})); err != nil || replay != replayed {
			t.Errorf("replay %v, %v", replay, err)
		}
	}
	if f.places != 2 || len(f.drawn) != 0 {
		t.Errorf("placed %d times, drawn %v: its stock is the order's", f.places, f.drawn)
	}
}

func TestAMarkerWithAnOrderTakesNothingAndDrawsNothing(t *testing.T) {
	f, s, first := placed(t)
	f.deduct = func(int, order.Basket) (order.Taken, error) {
		got := taken("g.f", 1)
		got.Seen = true
		return got, nil
	}
	got, replay, err := s.Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1}))
	if err != nil || !replay || got.ID != first.ID || len(f.drawn) != 0 || f.places != 1 {
		t.Errorf("replay %v, %v, drawn %v, placed %d times", replay, err, f.drawn, f.places)
	}
}

func TestAMarkerWithoutAnOrderIsFinishedUnderItsFirstTicket(t *testing.T) {
	f := newFakes()
	f.deduct = func(int, order.Basket) (order.Taken, error) {
		got := taken("g.f", 7)
		got.Seen = true
		return got, nil
	}
	f.place = func(_ int, p *order.Placement) error {
		if p.Run.Ticket != 7 {
			t.Errorf("placed under %+v", p.Run)
		}
		return nil
	}
	if _, replay, err := f.service().Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1})); err != nil || replay {
		t.Errorf("replay %v, %v", replay, err)
	}
}

func TestAnAttemptThatWasGivenBackIsNotRevived(t *testing.T) {
	f := newFakes()
	f.deduct = func(int, order.Basket) (order.Taken, error) {
		got := taken("g.f", 7)
		got.Seen, got.Released = true, true
		return got, nil
	}
	_, _, err := f.service().Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1}))
	var no *order.Refusal
	if !errors.As(err, &no) || no.Code != wire.CodeOrderReleased || f.places != 0 {
		t.Errorf("%v, placed %d times", err, f.places)
	}
}

func TestALedgerThatIsAwayIsToldAndNothingElseIsTried(t *testing.T) {
	f := newFakes()
	f.place = func(int, *order.Placement) error { return errAway }
	if _, _, err := f.service().Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1})); !errors.Is(err, errAway) || f.deducts != 1 {
		t.Errorf("%v after %d deducts", err, f.deducts)
	}
}

func TestARetryTakesTheBasketUnderTheNextVersion(t *testing.T) {
	f, s, o := placed(t)
	rolled, err := s.Cancel(t.Context(), o.ID)
	if err != nil {
		t.Fatal(err)
	}
	f.deduct = func(_ int, b order.Basket) (order.Taken, error) {
		if b.Version != 3 || b.ID != o.ID {
			t.Errorf("takes %+v", b)
		}
		return taken("g.f", 9), nil
	}
	f.move = func(n int, c *order.Change) error {
		if c.Version != 2 || c.Run.Ticket != 9 {
			t.Errorf("moves %+v", c)
		}
		return map[int]error{2: order.ErrDoubled, 3: order.ErrStale}[n]
	}
	got, err := f.fast().Retry(context.Background(), rolled, nil)
	if err != nil || got.Status != order.PreReserved || got.Version != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if len(f.rebuilt) != 2 || !slices.Equal(f.drawn, []string{"g.f"}) {
		t.Errorf("rebuilt %v, drawn %v", f.rebuilt, f.drawn)
	}
	f.deduct = func(int, order.Basket) (order.Taken, error) { return order.Taken{Seen: true, Released: true}, nil }
	var no *order.Refusal
	if _, err := f.fast().Retry(context.Background(), rolled, nil); !errors.As(err, &no) || no.Code != wire.CodeOrderReleased {
		t.Errorf("a retry that was given back: %v", err)
	}
}
