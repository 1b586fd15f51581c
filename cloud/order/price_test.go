package order_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// planned makes the fakes' cabinet work by version 3: cola at 300, chips at 300.
func (f *fakes) planned() {
	f.offers = map[string]order.Offer{
		"cola":  {Product: order.Product{SKU: "cola", Price: 300, Currency: "EUR", UserLimit: 3}, PricedAt: 3, Slots: []string{"A1"}},
		"chips": {Product: order.Product{SKU: "chips", Price: 300, Currency: "EUR"}, PricedAt: 3, Slots: []string{"B1"}},
	}
	price := func(sku string, p int64) wire.Price { return wire.Price{SKU: sku, Price: p, Currency: "EUR"} }
	f.was = map[int64]map[string]wire.Price{
		1: {"cola": price("cola", 250), "chips": price("chips", 300)},
		2: {"cola": price("cola", 300)},
		3: {"cola": price("cola", 300), "chips": price("chips", 300)},
	}
}

func TestAnOrderCarriesTheVersionItWasPricedUnder(t *testing.T) {
	f := newFakes()
	f.planned()
	o, _, err := f.service().Place(t.Context(), f.request(cola(2)))
	if err != nil || o.PricedAt != 3 || o.Amount != 600 || f.orders[o.ID].PricedAt != 3 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestAShopperWhoSawAnotherPriceIsAskedAgain(t *testing.T) {
	chips := wire.Line{SKU: "chips", Qty: 1}
	for name, c := range map[string]struct {
		seen  int64
		lines []wire.Line
		ok    bool
	}{
		"nothing said":                           {0, []wire.Line{cola(1)}, true},
		"the version in force":                   {3, []wire.Line{cola(1), chips}, true},
		"an older one, equal in this basket":     {2, []wire.Line{cola(1)}, true},
		"an older one, equal in this line alone": {1, []wire.Line{chips}, true},
		"an older one, another price":            {1, []wire.Line{chips, cola(1)}, false},
		"not sold under that version":            {2, []wire.Line{chips}, false},
		"a version that never was":               {9, []wire.Line{chips}, false},
	} {
		f := newFakes()
		f.planned()
		r := f.request(c.lines...)
		r.PricedAt = c.seen
		_, _, err := f.service().Place(t.Context(), r)
		var no *order.Refusal
		switch {
		case c.ok && err != nil:
			t.Errorf("%s: %v", name, err)
		case !c.ok && (!errors.As(err, &no) || no.Code != wire.CodePriceChanged || no.PricedAt != 3 || len(no.Prices) != len(c.lines)):
			t.Errorf("%s: %v", name, err)
		case !c.ok && f.deducts+f.places != 0:
			t.Errorf("%s: something was taken", name)
		}
		if no != nil && !slices.Contains(no.Prices, wire.Price{SKU: "chips", Price: 300, Currency: "EUR"}) {
			t.Errorf("%s: what it costs now is not told: %+v", name, no.Prices)
		}
	}
}

func TestANewPriceIsNoNewsToAnOrderThatStands(t *testing.T) {
	f := newFakes()
	f.planned()
	s := f.service()
	r := f.request(cola(1))
	r.PricedAt = 3
	first, _, err := s.Place(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	dearer := f.offers["cola"]
	dearer.Price, dearer.PricedAt = 400, 4
	f.offers["cola"] = dearer
	for _, change := range []func(){func() {}, func() { dearer.Suspended = true; f.offers["cola"] = dearer }, func() { delete(f.offers, "cola") }} {
		change()
		if o, replay, err := s.Place(t.Context(), r); err != nil || !replay || o.Amount != first.Amount || o.PricedAt != 3 {
			t.Errorf("%+v, replay %v, %v", o, replay, err)
		}
	}
}

func TestASuspendedProductIsRefusedBeforeStockIsTouched(t *testing.T) {
	f := newFakes()
	f.planned()
	broken := f.offers["cola"]
	broken.Suspended = true
	f.offers["cola"] = broken
	s := f.peak()
	_, _, placed := s.Place(t.Context(), f.request(cola(1), wire.Line{SKU: "chips", Qty: 1}))
	_, _, taken := s.TakeIn(t.Context(), f.request(cola(1)), order.Wishes{})
	admitted := s.Admit(t.Context(), order.Order{ID: freshID, Cabinet: "C1", User: "ann", Lines: []order.Line{{SKU: "cola", Qty: 1}}})
	_, retried := s.Retry(t.Context(), order.Order{ID: freshID, Cabinet: "C1", User: "ann", Version: 2, Lines: []order.Line{{SKU: "cola", Qty: 1}}})
	for i, err := range []error{placed, taken, admitted, retried} {
		var no *order.Refusal
		if !errors.As(err, &no) || no.Code != wire.CodeSlotSuspended {
			t.Errorf("way %d: %v", i, err)
		}
	}
	if f.deducts+f.places+f.moves != 0 {
		t.Error("something was taken")
	}
}

// moving is a catalogue that has a new version after some questions.
type moving struct {
	*fakes
	asked int
}

func (m *moving) Product(_ context.Context, _, sku string) (order.Offer, bool, error) {
	m.asked++
	o := m.offers[sku]
	if m.asked > 1 {
		o.Price, o.PricedAt = o.Price+100, 4
	}
	return o, true, nil
}

func TestABasketIsPricedUnderOneVersion(t *testing.T) {
	f := newFakes()
	f.planned()
	s := f.service()
	s.Catalogue = &moving{fakes: f}
	o, _, err := s.Place(t.Context(), f.request(cola(1), wire.Line{SKU: "chips", Qty: 1}))
	if err != nil || o.PricedAt != 4 || o.Amount != 800 {
		t.Errorf("%+v, %v", o, err)
	}
}
