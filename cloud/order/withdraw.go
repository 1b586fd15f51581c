package order

import (
	"context"
	"errors"
	"fmt"

	"vendline/shared/wire"
)

// withdraw ends an order that waits to be placed, at the shopper's wish: its
// intent is refused, so that whoever is placing it comes too late, and whatever
// that took in Redis is given back. Withdrawing twice is withdrawing once; an order
// that was refused for another reason is a *StateError; one that was placed
// meanwhile is ended as a hold.
//
// Dies before the refusal commits: the order is pending, and the shopper asks
// again. Dies after: it finds the order refused, and its effect and callback are
// carried by whoever claims their rows.
func (s *Service) withdraw(ctx context.Context, c Change) (Order, error) {
	err := s.Intents.Refuse(ctx, &Refused{ID: c.ID, Code: wire.CodeOrderReleased, Detail: c.Cause})
	var state *StateError
	switch {
	case errors.As(err, &state) && state.Order.Status != Init:
		return s.endNow(ctx, c)
	case err != nil && state == nil:
		return Order{}, err
	}
	o, missing := s.Ledger.Find(ctx, c.ID)
	switch {
	case missing != nil:
		return Order{}, fmt.Errorf("cancel: find the order: %w", missing)
	case err != nil && (o.Intent == nil || o.Intent.Detail != c.Cause):
		return Order{}, &StateError{Order: o, Event: c.Event}
	}
	return o, nil
}
