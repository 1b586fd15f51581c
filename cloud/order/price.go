package order

import (
	"context"
	"fmt"

	"vendline/shared/wire"
)

// price looks an order's lines up and prices them, all under one version of the
// cabinet's planogram. A shopper who saw the prices of another version, seen,
// and would pay something else now, is refused with what it costs: equal prices
// under an older version are no news. Nothing is taken yet.
func (s *Service) price(ctx context.Context, o *Order, seen int64) ([]Item, error) {
	was, err := s.seenPrices(ctx, o, seen)
	if err != nil {
		return nil, err
	}
	offers, err := s.offers(ctx, *o)
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(offers))
	now := make([]wire.Price, len(offers))
	o.PricedAt = offers[0].PricedAt
	for i, p := range offers {
		l := &o.Lines[i]
		if o.Currency != "" && o.Currency != p.Currency {
			return nil, &Refusal{Code: wire.CodeInvalidRequest, Detail: "a basket has one currency; this one mixes " + o.Currency + " and " + p.Currency}
		}
		o.Currency = p.Currency
		o.Amount += p.Price * int64(l.Qty)
		l.Price = p.Price
		items[i] = Item{SKU: l.SKU, Qty: l.Qty, Limit: p.UserLimit}
		now[i] = wire.Price{SKU: p.SKU, Price: p.Price, Currency: p.Currency}
	}
	for i := range was {
		if was[i] != now[i] {
			return nil, &Refusal{Code: wire.CodePriceChanged, Detail: now[i].SKU + " has another price than the one that was shown", Prices: now, PricedAt: o.PricedAt}
		}
	}
	return items, nil
}

// seenPrices are the lines' prices under the version that a shopper saw; none if
// he did not say which. A SKU that was not sold then has no price.
func (s *Service) seenPrices(ctx context.Context, o *Order, seen int64) ([]wire.Price, error) {
	if seen == 0 {
		return nil, nil
	}
	was := make([]wire.Price, len(o.Lines))
	for i, l := range o.Lines {
		p, _, err := s.Catalogue.PriceAt(ctx, o.Cabinet, seen, l.SKU)
		if err != nil {
			return nil, fmt.Errorf("place: look the price of %s up: %w", l.SKU, err)
		}
		was[i] = p
	}
	return was, nil
}

// mixed is how often a basket is looked up that met two versions.
const mixed = 5

// offers looks an order's lines up, all under one version.
func (s *Service) offers(ctx context.Context, o Order) ([]Offer, error) {
	offers := make([]Offer, len(o.Lines))
	for range mixed {
		same := true
		for i, l := range o.Lines {
			p, ok, err := s.Catalogue.Product(ctx, o.Cabinet, l.SKU)
			switch {
			case err != nil:
				return nil, fmt.Errorf("place: look %s up: %w", l.SKU, err)
			case !ok:
				return nil, &Refusal{Code: wire.CodeSKUUnknown, Detail: "no product " + l.SKU + " is sold here"}
			case p.Suspended:
				return nil, &Refusal{Code: wire.CodeSlotSuspended, Detail: l.SKU + " cannot be dispensed here until its slot was looked at"}
			}
			offers[i] = p
			same = same && p.PricedAt == offers[0].PricedAt
		}
		if same {
			return offers, nil
		}
	}
	return nil, &Refusal{Code: wire.CodeUnavailable, Detail: "the cabinet's prices are changing; ask again"}
}

// limits looks today's limits for an order's lines up, of which the cabinet has
// to be able to dispense each.
func (s *Service) limits(ctx context.Context, o Order) ([]Item, error) {
	offers, err := s.offers(ctx, o)
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(offers))
	for i, p := range offers {
		items[i] = Item{SKU: p.SKU, Qty: o.Lines[i].Qty, Limit: p.UserLimit}
	}
	return items, nil
}
