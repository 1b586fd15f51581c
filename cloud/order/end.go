package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vendline/shared/wire"
)

// Charges are what providers may still be paid for orders. An order with one
// does not end before the provider has been asked and has closed it.
type Charges interface {
	// Charged picks those of orders that may still be paid.
	Charged(ctx context.Context, orders []string) ([]string, error)
	// EndCharges makes sure that an order can not be paid any more, or books the
	// money that has come; then the order is paid, and does not end. An error says
	// that a provider does not answer.
	EndCharges(ctx context.Context, id string) error
}

const (
	// chargePatience is how long after its time a hold waits for a provider that
	// does not answer. Then it ends all the same; what is paid after that is
	// money that came late.
	chargePatience = 30 * time.Second
	// chargesAtOnce bounds how many orders' providers are asked at a time.
	chargesAtOnce = 128
)

// Cancel ends an unpaid hold at the shopper's wish. Cancelling what is already
// rolled back is no error; a paid order is a *StateError. While the provider of
// an open charge does not answer it is refused: nobody knows whether it is paid.
// An order that waits to be placed is withdrawn.
func (s *Service) Cancel(ctx context.Context, id string) (Order, error) {
	c := Change{ID: id, Event: Timeout, Cause: "cancelled by shopper"}
	o, err := s.endNow(ctx, c)
	var state *StateError
	if errors.As(err, &state) && state.Order.Status == Init && s.Intents != nil {
		return s.withdraw(ctx, c)
	}
	return o, err
}

// Replace ends an unpaid hold that its shopper's next order has taken the place
// of; see Cancel.
func (s *Service) Replace(ctx context.Context, id string) (Order, error) {
	return s.endNow(ctx, Change{ID: id, Event: Timeout, Cause: "replaced by the shopper's next order"})
}

// endNow closes an order's charges, then rolls it back. Dies in between: it can
// not be paid any more, and ends at its time.
func (s *Service) endNow(ctx context.Context, c Change) (Order, error) {
	if s.Charges != nil {
		if err := s.Charges.EndCharges(ctx, c.ID); err != nil {
			return Order{}, &Refusal{Code: wire.CodeUnavailable, Detail: "the payment provider does not answer; ask again"}
		}
	}
	return s.move(ctx, c, RolledBack)
}

// Expire ends the holds among ids whose time is over, and says how many. Time is
// the ledger's expires_at, never the hint that brought the ids here.
//
// Holds that nobody can pay end at once, together. The others end when their
// charges are closed, or when a provider has not answered for chargePatience:
// until then they are left to the next sweep.
func (s *Service) Expire(ctx context.Context, ids []string) (int, error) {
	charged := map[string]bool{}
	if s.Charges != nil {
		list, err := s.Charges.Charged(ctx, ids)
		if err != nil {
			return 0, fmt.Errorf("expire: %w", err)
		}
		for _, id := range list {
			charged[id] = true
		}
	}
	results := make(chan error, len(ids))
	asking := make(chan struct{}, chargesAtOnce)
	for _, id := range ids {
		go func() {
			if !charged[id] {
				results <- s.expire(ctx, id, 0)
				return
			}
			asking <- struct{}{}
			results <- s.expireCharged(ctx, id)
			<-asking
		}()
	}
	n := 0
	var failed error
	for range ids {
		err := <-results
		var refused *StateError
		switch {
		case err == nil:
			n++
		case errors.As(err, &refused), errors.Is(err, ErrUnknown):
			// Paid, cancelled, or not due yet: nothing to do.
		default:
			failed = err
		}
	}
	return n, failed
}

// expire ends a hold whose time has been over for at least late.
func (s *Service) expire(ctx context.Context, id string, late time.Duration) error {
	return s.Ledger.Transition(ctx, &Change{ID: id, Event: Timeout, Cause: "timeout", NotBefore: s.Clock().Add(-late)})
}

// expireCharged closes what may be paid for a hold whose time is over, then ends it.
func (s *Service) expireCharged(ctx context.Context, id string) error {
	o, err := s.Ledger.Find(ctx, id)
	if err != nil {
		return err
	}
	if o.Status != PreReserved || s.Clock().Before(o.HoldUntil) {
		return &StateError{Order: o, Event: Timeout}
	}
	if err := s.Charges.EndCharges(ctx, id); err != nil {
		s.Log.Debug("a hold waits for its payment provider", "order", id, "error", err)
		return s.expire(ctx, id, chargePatience)
	}
	return s.expire(ctx, id, 0)
}
