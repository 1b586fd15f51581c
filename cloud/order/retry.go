package order

import (
	"context"
	"fmt"
)

// Retrier is a Placer that takes baskets outside the ledger's transactions.
type Retrier interface {
	// Retry takes a rolled-back order's basket again, under its next version.
	Retry(ctx context.Context, o Order, items []Item) (after Order, err error)
}

// Retry takes a rolled-back order's basket again (EV_RETRY_DEDUCT), for a
// shopper whose payment came late and who is still there, under the limits of
// today. Errors: a *Refusal when the basket is not to be had, a *StateError when
// the order moved on; any other means that the outcome is unknown.
func (s *Service) Retry(ctx context.Context, o Order) (Order, error) {
	items, err := s.limits(ctx, o)
	if err != nil {
		return Order{}, fmt.Errorf("retry: %w", err)
	}
	if r, ok := s.Placer.(Retrier); ok {
		return r.Retry(ctx, o, items)
	}
	c := Change{ID: o.ID, Event: RetryDeduct, Cause: "paid late", Version: o.Version}
	if err := s.Ledger.Transition(ctx, &c); err != nil {
		return Order{}, err // c may still be on its way: others share the trip
	}
	return c.After, nil
}
