package order

import (
	"context"
	"fmt"
)

// Retry takes a rolled-back order's basket again (EV_RETRY_DEDUCT), for a
// shopper whose payment came late and who is still there, under the limits of
// today. Errors: a *Refusal when the basket is not to be had, a *StateError when
// the order moved on; any other means that the outcome is unknown.
func (s *Service) Retry(ctx context.Context, o Order) (Order, error) {
	items, err := s.limits(ctx, o)
	if err != nil {
		return Order{}, fmt.Errorf("retry: %w", err)
	}
	if fast, ok := s.Placer.(*Fast); ok {
		return fast.Retry(ctx, o, items)
	}
	c := Change{ID: o.ID, Event: RetryDeduct, Cause: "paid late", Version: o.Version}
	if err := s.Ledger.Transition(ctx, &c); err != nil {
		return Order{}, err // c may still be on its way: others share the trip
	}
	return c.After, nil
}
