package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"vendline/cloud/payment"
)

// till is the payment provider: what it knows outlives every process of ours.
type till struct {
	w       *world
	charges map[string]*charge
	back    map[string]int64 // refund id → amount: each is given back once
	down    bool
	sent    int
}

type charge struct {
	payment.Charge
	state payment.ChargeState
	back  int64
}

func newTill(w *world) *till {
	return &till{w: w, charges: map[string]*charge{}, back: map[string]int64{}}
}

var errAway = errors.New("no answer")

func (t *till) Name() string { return "till" }

func (t *till) Create(_ context.Context, c payment.Charge) (payment.Prepay, error) {
	switch was := t.charges[c.TradeNo]; {
	case t.down:
		return payment.Prepay{}, errAway
	case was == nil:
		t.charges[c.TradeNo] = &charge{Charge: c, state: payment.Unpaid}
	case was.state == payment.Paid:
		return payment.Prepay{}, payment.ErrPaid
	case was.state == payment.Closed || was.Amount != c.Amount:
		return payment.Prepay{}, payment.ErrRefused
	}
	return payment.Prepay{URL: "till://" + c.TradeNo}, nil
}

func (t *till) Query(_ context.Context, tradeNo string) (payment.Charged, error) {
	c := t.charges[tradeNo]
	switch {
	case t.down:
		return payment.Charged{}, errAway
	case c == nil:
		return payment.Charged{State: payment.NotFound}, nil
	}
	return t.charged(c), nil
}

func (t *till) charged(c *charge) payment.Charged {
	got := payment.Charged{State: c.state, Merchant: "m"}
	if c.state == payment.Paid {
		got.Amount, got.Ref, got.PaidAt = c.Amount, "till-"+c.TradeNo, t.w.Now()
	}
	return got
}

func (t *till) Close(_ context.Context, tradeNo string) error {
	switch c := t.charges[tradeNo]; {
	case t.down:
		return errAway
	case c == nil:
		t.charges[tradeNo] = &charge{Charge: payment.Charge{TradeNo: tradeNo}, state: payment.Closed}
	case c.state == payment.Paid:
		return payment.ErrPaid
	default:
		c.state = payment.Closed
	}
	return nil
}

func (t *till) Refund(_ context.Context, r payment.Refund) (payment.RefundState, error) {
	c := t.charges[r.TradeNo]
	switch {
	case t.down:
		return "", errAway
	case c == nil || c.state != payment.Paid:
		return "", fmt.Errorf("%w: it was not paid", payment.ErrRefused)
	}
	if _, done := t.back[r.ID]; !done {
		if c.back+r.Amount.Minor > c.Amount.Minor {
			return "", fmt.Errorf("%w: more than was paid", payment.ErrRefused)
		}
		t.back[r.ID] = r.Amount.Minor
		c.back += r.Amount.Minor
	}
	return payment.RefundDone, nil
}

// Verify believes: signatures are their providers' tests.
func (t *till) Verify(n payment.Notification) (got payment.Notice, err error) {
	if err := json.Unmarshal(n.Body, &got); err != nil {
		return got, payment.ErrUnsigned
	}
	return got, nil
}

func (t *till) Answer(kept bool) payment.Answer {
	if kept {
		return payment.Answer{Status: 200}
	}
	return payment.Answer{Status: 500}
}

// pay is the shopper paying, which works while the charge is open.
func (t *till) pay(tradeNo string) bool {
	c := t.charges[tradeNo]
	if c == nil || c.state != payment.Unpaid {
		return false
	}
	c.state = payment.Paid
	return true
}

// callback is what the till sends about a charge that is paid.
func (t *till) callback(tradeNo string) (payment.Notification, bool) {
	c := t.charges[tradeNo]
	if c == nil || c.state != payment.Paid {
		return payment.Notification{}, false
	}
	t.sent++
	body, err := json.Marshal(payment.Notice{ID: fmt.Sprint("till-", t.sent), TradeNo: tradeNo, Charged: t.charged(c)})
	return payment.Notification{Body: body}, err == nil
}
