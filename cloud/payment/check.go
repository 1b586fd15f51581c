package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// CarryChecks asks about charges that are open: what finds a lost callback, and
// closes what outlived its order.
func (s *Service) CarryChecks(ctx context.Context, rows []outbox.Row) error {
	return each(ctx, rows, s.check)
}

// check asks once, and removes the row when nothing is left to ask. A provider
// that does not answer is asked again when the row's lease is over.
func (s *Service) check(ctx context.Context, row outbox.Row) error {
	id := string(row.Payload)
	p, err := s.Ledger.Payment(ctx, id)
	if err != nil {
		return err
	}
	if p.Status == StatusOpen {
		o, err := s.Ledger.Find(ctx, p.Order)
		if err != nil {
			return err
		}
		if o.Status == order.PreReserved {
			err = s.look(ctx, p)
		} else {
			err = s.end(ctx, p)
		}
		if err != nil {
			return s.unanswered(ctx, p, err)
		}
		if p, err = s.Ledger.Payment(ctx, id); err != nil || p.Status == StatusOpen {
			return err
		}
	}
	return s.Ledger.Delete(ctx, row.ID)
}

// askedFor is how long a provider may leave open whether a charge is paid.
const askedFor = 24 * time.Hour

// unanswered leaves a charge to the next check, and in the end to a person: its
// callback, should it come, is still good.
func (s *Service) unanswered(ctx context.Context, p Payment, why error) error {
	s.Log.Debug("a charge could not be checked", "payment", p.ID, "error", why)
	if s.Clock().Sub(p.CreatedAt) < askedFor {
		return nil
	}
	return s.Ledger.DisputePayment(ctx, p.ID, "for a day nobody says whether it is paid: "+why.Error(), true)
}

// look asks where a charge stands, and books what it hears.
func (s *Service) look(ctx context.Context, p Payment) error {
	got, err := s.query(ctx, p)
	if err != nil {
		return err
	}
	return s.heard(ctx, p, got)
}

// heard books what a provider said of a charge.
func (s *Service) heard(ctx context.Context, p Payment, got Charged) error {
	switch got.State {
	case Closed:
		return s.Ledger.ClosePayment(ctx, p.ID)
	case Paid:
		if why := mismatch(p, got); why != "" {
			s.Counters.Mismatched.Add(1)
			return s.Ledger.DisputePayment(ctx, p.ID, why, true)
		}
		_, err := s.capture(ctx, p, got)
		return err
	}
	return nil
}

// end makes sure that a charge can not be paid any more, or books its money if
// it has been.
//
// The provider closes first, then we do. Dies in between: the charge is asked
// about again, and is closed.
func (s *Service) end(ctx context.Context, p Payment) error {
	got, err := s.query(ctx, p)
	if err != nil {
		return err
	}
	if got.State == Paid || got.State == Closed {
		return s.heard(ctx, p, got)
	}
	err = s.closeAt(ctx, p)
	if errors.Is(err, ErrPaid) {
		if got, err = s.query(ctx, p); err == nil && got.State != Paid {
			err = fmt.Errorf("payment: charge %s is paid by one word, %s by another", p.TradeNo, got.State)
		}
		if err != nil {
			return err
		}
		return s.heard(ctx, p, got)
	}
	if err != nil {
		return err
	}
	return s.Ledger.ClosePayment(ctx, p.ID)
}

// Charged picks the orders that may still be paid; see order.Charges.
func (s *Service) Charged(ctx context.Context, orders []string) ([]string, error) {
	open, err := s.Ledger.OpenPayments(ctx, orders...)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(open))
	var ids []string
	for _, p := range open {
		if !seen[p.Order] {
			seen[p.Order], ids = true, append(ids, p.Order)
		}
	}
	return ids, nil
}

// EndCharges makes sure that an order can not be paid any more, or books what
// has been; see order.Charges.
func (s *Service) EndCharges(ctx context.Context, id string) error {
	open, err := s.Ledger.OpenPayments(ctx, id)
	if err != nil {
		return err
	}
	for _, p := range open {
		if err := s.end(ctx, p); err != nil {
			return fmt.Errorf("payment: end charge %s at %s: %w", p.TradeNo, p.Provider, err)
		}
	}
	return nil
}
