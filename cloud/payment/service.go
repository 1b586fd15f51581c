package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// ErrNoProvider says that there is no such way of paying here.
var ErrNoProvider = errors.New("payment: no such provider")

// Service is an order's money from the charge to the last refund. All fields up
// to Log are required. Safe for concurrent use.
type Service struct {
	Ledger    Ledger
	Providers map[string]Provider // by name
	Stock     Retrier             // takes the basket of an order that was paid late
	PublicURL string              // where providers reach this service, without a slash at its end
	Clock     func() time.Time
	Log       *slog.Logger

	Counters Counters

	lines lines
}

// Started is a charge that a shopper can pay.
type Started struct {
	Payment
	Prepay
	DueBy time.Time // when the hold ends
}

// Start asks a shopper for an order's money: first the row, then the provider.
//
// Promise: no charge exists that we do not know of. Dies in between, or the
// provider does not answer: the same Start again returns the same charge, and
// the order's end closes it. Errors: ErrNoProvider, order.ErrUnknown,
// *order.StateError for an order that is not a hold, *order.Refusal.
func (s *Service) Start(ctx context.Context, orderID, provider string) (Started, error) {
	if _, ok := s.Providers[provider]; !ok {
		return Started{}, ErrNoProvider
	}
	p, o, err := s.Ledger.OpenPayment(ctx, orderID, provider)
	if err != nil {
		return Started{}, err
	}
	if p.Status != StatusOpen {
		return Started{}, &order.Refusal{Code: wire.CodeOrderState, Detail: "the payment is " + string(p.Status) + "; it can not be paid again"}
	}
	prepay, err := create(ctx, s, p, Charge{
		TradeNo: p.TradeNo, Amount: p.Amount, Description: "Vendline " + o.Cabinet, ExpiresAt: o.HoldUntil,
		NotifyURL: s.PublicURL + "/v1/payments/" + provider + "/notify",
	})
	switch {
	case errors.Is(err, ErrPaid):
		return Started{}, s.wasPaid(ctx, p, o)
	case errors.Is(err, ErrRefused):
		s.Log.Warn("a provider refuses a charge", "order", o.ID, "provider", provider, "error", err)
		return Started{}, &order.Refusal{Code: wire.CodeOrderState, Detail: "the provider does not take this charge; pay in another way, or order again"}
	case err != nil:
		s.Log.Warn("a charge may not be created", "order", o.ID, "provider", provider, "error", err)
		return Started{}, &order.Refusal{Code: wire.CodeUnavailable, Detail: "the provider does not answer; ask again"}
	}
	return s.stillOpen(ctx, p, o, prepay)
}

func create(ctx context.Context, s *Service, p Payment, c Charge) (Prepay, error) {
	return call(ctx, s, p.Provider, insistent, func(ctx context.Context, via Provider) (Prepay, error) { return via.Create(ctx, c) })
}

// wasPaid books what the provider says has been paid already. The shopper hears
// that the order's state allows no charge any more.
func (s *Service) wasPaid(ctx context.Context, p Payment, o order.Order) error {
	if err := s.look(ctx, p); err != nil {
		return fmt.Errorf("payment: charge %s was paid: %w", p.TradeNo, err)
	}
	now, err := s.Ledger.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	return &order.StateError{Order: now, Event: order.PaySuccess}
}

// stillOpen answers with the charge, unless the order ended while the provider
// was asked to create it: its end may have found nothing to close.
func (s *Service) stillOpen(ctx context.Context, p Payment, o order.Order, prepay Prepay) (Started, error) {
	now, err := s.Ledger.Payment(ctx, p.ID)
	if err != nil {
		return Started{}, err
	}
	if now.Status == StatusOpen || now.Captured() {
		return Started{Payment: now, Prepay: prepay, DueBy: o.HoldUntil}, nil
	}
	if err := s.closeAt(ctx, now); err != nil {
		s.Log.Warn("a charge outlived its order's end", "order", o.ID, "provider", p.Provider, "error", err)
	}
	return Started{}, &order.Refusal{Code: wire.CodeOrderState, Detail: "the order ended meanwhile"}
}
