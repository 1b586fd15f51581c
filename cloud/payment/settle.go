package payment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// parkedFor is how long money that belongs to nothing we know waits for its
// order to appear.
const parkedFor = 24 * time.Hour

// What comes of a callback that books nothing.
const (
	outcomeMismatch = "mismatch" // its money is not what was asked
	outcomeNoMoney  = "no_money" // it brings none
)

// CarryNotices settles callbacks that are kept.
func (s *Service) CarryNotices(ctx context.Context, rows []outbox.Row) error {
	return each(ctx, rows, s.settle)
}

// settle books the money of a callback, then removes its row. Dies before the
// booking: the row comes again. Dies between the two: it comes again, and finds
// the money booked.
func (s *Service) settle(ctx context.Context, row outbox.Row) error {
	var at NoticeRow
	if err := json.Unmarshal(row.Payload, &at); err != nil {
		return fmt.Errorf("payment: read row %s: %w", row.ID, err)
	}
	k, err := s.Ledger.Notice(ctx, at.Provider, at.ID)
	if err != nil {
		return err
	}
	if k.Outcome != "" {
		return s.Ledger.FinishNotice(ctx, at.Provider, at.ID, k.Outcome, row.ID)
	}
	if k.State != Paid {
		// Of a refund, or a charge that was closed: our own calls know of it.
		return s.Ledger.FinishNotice(ctx, k.Provider, k.ID, outcomeNoMoney, row.ID)
	}
	p, err := s.Ledger.PaymentOf(ctx, k.Provider, k.TradeNo)
	if errors.Is(err, ErrUnknown) {
		return s.park(ctx, row, k, "no payment has this trade number")
	}
	if err != nil {
		return err
	}
	if why := mismatch(p, k.Charged); why != "" {
		s.Counters.Mismatched.Add(1)
		if err := s.Ledger.DisputePayment(ctx, p.ID, why, false); err != nil {
			return err
		}
		return s.Ledger.FinishNotice(ctx, k.Provider, k.ID, outcomeMismatch, row.ID)
	}
	what, err := s.capture(ctx, p, k.Charged)
	var state *order.StateError
	if errors.As(err, &state) || errors.Is(err, order.ErrUnknown) {
		return s.park(ctx, row, k, "the order can not take it: "+err.Error())
	}
	if err != nil {
		return err
	}
	return s.Ledger.FinishNotice(ctx, k.Provider, k.ID, string(what), row.ID)
}

// park leaves the row to its lease: a callback may overtake its order. In the
// end a person is called.
func (s *Service) park(ctx context.Context, row outbox.Row, k Kept, why string) error {
	if row.Attempts < MaxAttempts && s.Clock().Sub(k.ReceivedAt) < parkedFor {
		return nil
	}
	detail := fmt.Sprintf("%s of %s: %s", k.Amount, k.Provider, why)
	return s.Ledger.AbandonNotice(ctx, k, detail, row.ID)
}

// mismatch says how money that arrived is not what was asked; "" when it is.
// Whose charge it is, the provider's Verify has checked.
func mismatch(p Payment, got Charged) string {
	if id, ok := OrderOf(p.TradeNo); !ok || id != p.Order {
		return fmt.Sprintf("trade number %s is not of order %s", p.TradeNo, p.Order)
	}
	if got.Amount != p.Amount {
		return fmt.Sprintf("%s arrived, %s was asked", got.Amount, p.Amount)
	}
	return ""
}

// capture books money that has been checked.
func (s *Service) capture(ctx context.Context, p Payment, got Charged) (order.Captured, error) {
	c := order.Change{ID: p.Order, Event: order.PaySuccess, Cause: "paid by " + p.Provider, Capture: &order.Capture{Payment: p.ID, Ref: got.Ref, PaidAt: got.PaidAt}}
	if err := s.Ledger.Transition(ctx, &c); err != nil {
		return "", err // c may still be on its way: others share the trip
	}
	s.Counters.captured(c.Captured)
	return c.Captured, nil
}

// each carries rows at the same time, so that they share commits, and returns
// an error if one failed.
func each(ctx context.Context, rows []outbox.Row, carry func(context.Context, outbox.Row) error) error {
	done := make(chan error, len(rows))
	for _, row := range rows {
		go func() { done <- carry(ctx, row) }()
	}
	var failed error
	for range rows {
		if err := <-done; err != nil {
			failed = err
		}
	}
	return failed
}
