package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

const (
	// liveFor is how lately a shopper must have been seen to be there still.
	liveFor = 45 * time.Second
	// retryFor is how long after late money its basket may be taken again. What
	// is not decided by then goes back, so that it is on its way within a minute.
	retryFor = 30 * time.Second
)

// CarryLate decides about money that came when its order had ended.
func (s *Service) CarryLate(ctx context.Context, rows []outbox.Row) error {
	return each(ctx, rows, s.late)
}

// late decides between vending and refund, once, whoever dies when.
//
// Each way ends in a transaction that looks again under the order's lock: the
// money pays for the order, or a refund stands in the row's place, and never
// both. Dies after the basket was taken again: the order is a hold, which can
// not time out while its money is here; the row comes again and consumes it.
// Dies after the order was consumed: the row comes again and has nothing to do.
func (s *Service) late(ctx context.Context, row outbox.Row) error {
	for range 3 {
		p, err := s.Ledger.Payment(ctx, string(row.Payload))
		if err != nil {
			return err
		}
		if p.Status != StatusSurplus {
			return s.Ledger.Delete(ctx, row.ID)
		}
		if returned, err := s.goesBack(ctx, p); err != nil || returned {
			if err == nil {
				err = s.Ledger.Delete(ctx, row.ID)
			}
			return err
		}
		reason, err := s.vend(ctx, row, p)
		if err != nil {
			return err
		}
		if reason == "" {
			continue // the order took the money; look again
		}
		if err = s.Ledger.ReturnSurplus(ctx, p.ID, reason, row.ID); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return nil // others are at it; when the row comes again, they are done
}

// vend gives late money to its order if it can still be had, or says why not.
func (s *Service) vend(ctx context.Context, row outbox.Row, p Payment) (reason string, err error) {
	o, err := s.Ledger.Find(ctx, p.Order)
	if err != nil {
		return "", err
	}
	if o.Status == order.RolledBack {
		if reason, err = s.again(ctx, row, &o); reason != "" || err != nil {
			return reason, err
		}
	}
	if o.Status == order.Consumed {
		return "paid twice", nil
	}
	what, err := s.capture(ctx, p, Charged{Ref: p.Ref})
	if err != nil || what == order.CapturedPays {
		return "", err
	}
	return "paid after the order had ended", nil
}

// again takes the basket again for a shopper who is still there.
func (s *Service) again(ctx context.Context, row outbox.Row, o *order.Order) (reason string, err error) {
	if s.Clock().Sub(row.CreatedAt) >= retryFor {
		return "paid late, and no stock in time", nil
	}
	live, err := s.Ledger.Live(ctx, o.ID, liveFor)
	if err != nil {
		return "", err
	}
	if !live {
		return "paid late, and nobody is there", nil
	}
	taken, err := s.Stock.Retry(ctx, *o)
	var refused *order.Refusal
	var state *order.StateError
	switch {
	case err == nil:
		*o = taken
		return "", nil
	case errors.As(err, &refused) && !refused.Code.Retryable() && refused.Code != wire.CodeOrderReleased:
		return "paid late, and " + string(refused.Code), nil
	case errors.As(err, &state):
		*o = state.Order // it moved meanwhile
		return "", nil
	}
	return "", fmt.Errorf("payment: take order %s again: %w", o.ID, err)
}

// goesBack reports whether a payment's refund is decided.
func (s *Service) goesBack(ctx context.Context, p Payment) (bool, error) {
	a, err := s.Ledger.Account(ctx, p.Order)
	if err != nil {
		return false, err
	}
	for _, r := range a.Returns {
		if r.Payment == p.ID && r.SKU == "" {
			return true, nil
		}
	}
	return false, nil
}
