package payment

import (
	"context"
	"errors"

	"vendline/cloud/outbox"
)

// CarryRefunds asks providers to give money back.
func (s *Service) CarryRefunds(ctx context.Context, rows []outbox.Row) error {
	return each(ctx, rows, s.refund)
}

// refund asks once, and books the answer. The provider gives back once per our
// id, however often it is asked. Dies before it is asked, or before its answer
// is booked: the row comes again, and so does the answer. Whatever is not done
// in the end is a case.
func (s *Service) refund(ctx context.Context, row outbox.Row) error {
	r, err := s.Ledger.Return(ctx, string(row.Payload))
	if err != nil {
		return err
	}
	if r.Status == ReturnDone {
		return s.Ledger.FinishReturn(ctx, r.ID, row.ID)
	}
	p, err := s.Ledger.Payment(ctx, r.Payment)
	if err != nil {
		return err
	}
	state, err := call(ctx, s, p.Provider, patient, func(ctx context.Context, via Provider) (RefundState, error) {
		return via.Refund(ctx, Refund{ID: r.ID, TradeNo: p.TradeNo, Amount: r.Amount, Total: p.Amount, Reason: r.Reason})
	})
	if err == nil && state == RefundDone {
		if err := s.Ledger.FinishReturn(ctx, r.ID, row.ID); err != nil {
			return err
		}
		s.Counters.RefundsDone.Add(1)
		return nil
	}
	why := "accepted, and not done yet"
	if err != nil {
		why = err.Error()
	}
	stuck, err := s.Ledger.FailReturn(ctx, r.ID, row.ID, why, errors.Is(err, ErrRefused))
	if stuck {
		s.Counters.RefundsStuck.Add(1)
		s.Log.Error("a refund is stuck; a case is open", "refund", r.ID, "order", r.Order, "provider", p.Provider, "error", why)
	}
	return err
}
