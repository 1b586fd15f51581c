package order_test

import (
	"errors"
	"fmt"
	"testing"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// shelf lets a placement through once the holds it waits for have ended.
func (f *fakes) shelf(sku string, units int) {
	f.deduct = func(_ int, b order.Basket) (order.Taken, error) {
		have := units
		for _, o := range f.orders {
			for _, l := range o.Lines {
				if l.SKU == sku && o.Status.InForce() {
					have -= l.Qty
				}
			}
		}
		for _, i := range b.Items {
			if i.SKU == sku && i.Qty > have {
				return order.Taken{}, &order.Refusal{Code: wire.CodeStockShort, Short: []wire.Shortage{{SKU: sku, Want: i.Qty, Have: have}}}
			}
		}
		return order.Taken{Run: order.Run{Generation: "g.f", Ticket: int64(f.deducts)}}, nil
	}
}

// buy asks for lines under an id that its content makes.
func buy(user string, lines ...wire.Line) order.Request {
	return order.Request{ID: order.IDFromKey(fmt.Sprint(user, lines)), Cabinet: "C1", User: user, Lines: lines}
}

func TestNobodyIsKeptFromTheLastUnitByAnOrderOfHisOwn(t *testing.T) {
	f := newFakes()
	f.shelf("chips", 2)
	s := f.service()
	one := wire.Line{SKU: "chips", Qty: 1}
	first, _, err := s.Place(t.Context(), buy("ann", one, wire.Line{SKU: "cola", Qty: 1}))
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := s.Place(t.Context(), buy("ann", wire.Line{SKU: "chips", Qty: 2}))
	if err != nil {
		t.Fatalf("kept from the last units by her own order: %v", err)
	}
	if got := f.orders[first.ID].Status; got != order.RolledBack {
		t.Errorf("the first order is %s", got)
	}
	var no *order.Refusal
	if _, _, err := s.Place(t.Context(), buy("bob", one)); !errors.As(err, &no) || no.Code != wire.CodeStockShort {
		t.Errorf("bob took what ann holds: %v", err)
	}
	if got := f.orders[second.ID].Status; got != order.PreReserved {
		t.Errorf("bob's wish ended ann's order: %s", got)
	}
}

func TestAHoldIsNotLostForABasketThatIsShortAllTheSame(t *testing.T) {
	f := newFakes()
	f.shelf("chips", 2)
	s := f.service()
	first, _, err := s.Place(t.Context(), buy("ann", wire.Line{SKU: "chips", Qty: 1}))
	if err != nil {
		t.Fatal(err)
	}
	var no *order.Refusal
	if _, _, err := s.Place(t.Context(), buy("ann", wire.Line{SKU: "chips", Qty: 3})); !errors.As(err, &no) || no.Code != wire.CodeStockShort {
		t.Errorf("got %v", err)
	}
	if got := f.orders[first.ID].Status; got != order.PreReserved {
		t.Errorf("the first order is %s", got)
	}
}

func TestAPaidOrderStandsInNobodysWay(t *testing.T) {
	f := newFakes()
	f.shelf("chips", 1)
	s := f.service()
	first, _, err := s.Place(t.Context(), buy("ann", wire.Line{SKU: "chips", Qty: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pay(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	var no *order.Refusal
	if _, _, err := s.Place(t.Context(), buy("ann", wire.Line{SKU: "cola", Qty: 1}, wire.Line{SKU: "chips", Qty: 1})); !errors.As(err, &no) || no.Code != wire.CodeStockShort {
		t.Errorf("got %v", err)
	}
	if got := f.orders[first.ID].Status; got != order.Consumed {
		t.Errorf("the paid order is %s", got)
	}
}
