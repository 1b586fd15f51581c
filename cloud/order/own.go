package order

import (
	"context"
	"errors"
	"slices"
	"time"

	"vendline/shared/wire"
)

// Patience with a hold that was given back until the stock filter knows of it.
const (
	ownTries = 40
	ownPause = 25 * time.Millisecond
)

// placeOver places an order, over the shopper's own unpaid ones at the cabinet
// if they are what stands in its way: nobody is kept from the last unit, or by
// his own limit, by an order that he walked away from.
//
// What it gives back goes to whoever comes first. That is this order, unless
// somebody else asks in the few milliseconds between: then it hears no, as it
// did before. Dies after giving back: the shopper comes again, under the same id.
func (s *Service) placeOver(ctx context.Context, o Order, items []Item, place func(context.Context, Order, []Item) error) error {
	no := place(ctx, o, items)
	var refused *Refusal
	if !errors.As(no, &refused) || refused.Code != wire.CodeStockShort && refused.Code != wire.CodePurchaseLimit {
		return no
	}
	holds, err := s.Ledger.Holds(ctx, o.User, o.Cabinet)
	if err != nil {
		return no // the refusal is true, whatever else is wrong
	}
	holds = inTheWay(holds, o, refused)
	if len(holds) == 0 {
		return no
	}
	for _, h := range holds {
		if _, err := s.Replace(ctx, h.ID); err != nil {
			return no // paid meanwhile, or not known: then it stands
		}
	}
	for range ownTries {
		if no = place(ctx, o, items); !errors.As(no, &refused) || refused.Code != wire.CodeStockShort && refused.Code != wire.CodePurchaseLimit {
			return no
		}
		select {
		case <-time.After(ownPause):
		case <-ctx.Done():
			return no
		}
	}
	return no
}

// inTheWay picks the holds that have units of what o was refused for, if giving
// them back is enough: a hold is not lost for a basket that is short all the same.
func inTheWay(holds []Order, o Order, no *Refusal) []Order {
	holds = slices.DeleteFunc(holds, func(h Order) bool {
		return h.ID == o.ID || !slices.ContainsFunc(h.Lines, func(l Line) bool {
			return slices.ContainsFunc(o.Lines, func(w Line) bool { return w.SKU == l.SKU })
		})
	})
	for _, short := range no.Short {
		have := short.Have
		for _, h := range holds {
			for _, l := range h.Lines {
				if l.SKU == short.SKU {
					have += l.Qty
				}
			}
		}
		if have < short.Want {
			return nil
		}
	}
	return holds
}
