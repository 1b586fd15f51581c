package sandbox

import (
	"fmt"
	"maps"
	"net/url"
	"time"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

// charge is one charge as the server keeps it.
type charge struct {
	TradeNo     string              `json:"trade_no"`
	Amount      money.Money         `json:"amount"`
	Description string              `json:"description"`
	ExpiresAt   time.Time           `json:"expires_at"` // zero for never
	NotifyURL   string              `json:"notify_url"`
	State       payment.ChargeState `json:"state"`
	Ref         string              `json:"ref,omitempty"`
	PaidAt      time.Time           `json:"paid_at"`
	Refunds     map[string]int64    `json:"refunds,omitempty"` // by refund ID
	Tried       int                 `json:"tried"`             // callbacks sent
	Due         time.Time           `json:"due"`               // of the next callback; zero when none is due
}

func (c *charge) clone() *charge {
	twin := *c
	twin.Refunds = maps.Clone(c.Refunds)
	return &twin
}

// newCharge reads a create request.
func newCharge(r request) (*charge, error) {
	amount, err := money.Of(r.Amount, r.Currency)
	if err != nil {
		return nil, err
	}
	if amount.Minor <= 0 {
		return nil, fmt.Errorf("%s can not be paid", amount)
	}
	if u, err := url.Parse(r.NotifyURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%.200q is not an address for callbacks", r.NotifyURL)
	}
	return &charge{
		TradeNo: r.TradeNo, Amount: amount, Description: r.Description,
		ExpiresAt: at(r.ExpiresAt), NotifyURL: r.NotifyURL, State: payment.Unpaid,
	}, nil
}

func (c *charge) sameAs(d *charge) bool {
	return c.Amount == d.Amount && c.Description == d.Description && c.ExpiresAt.Equal(d.ExpiresAt) && c.NotifyURL == d.NotifyURL
}

// stateAt is where the charge stands: one that expired unpaid is closed.
func (c *charge) stateAt(now time.Time) payment.ChargeState {
	if c.State == payment.Unpaid && !c.ExpiresAt.IsZero() && !now.Before(c.ExpiresAt) {
		return payment.Closed
	}
	return c.State
}

func (c *charge) pay(ref string, now time.Time) error {
	switch c.stateAt(now) {
	case payment.Paid:
		return nil // a second tap on the button
	case payment.Unpaid:
		c.State, c.Ref, c.PaidAt = payment.Paid, ref, now
		if rule := ruleOf(c.Amount); rule != loseCallback {
			c.Due = now.Add(rule.delay())
		}
		return nil
	}
	return fmt.Errorf("%w: sandbox: the charge is closed", payment.ErrRefused)
}

func (c *charge) close() error {
	if c.State == payment.Paid {
		return payment.ErrPaid
	}
	c.State = payment.Closed
	return nil
}

func (c *charge) refund(id string, amount money.Money) error {
	if before, ok := c.Refunds[id]; ok {
		if before != amount.Minor || c.Amount.Currency != amount.Currency {
			return fmt.Errorf("refund %s was of %d", id, before)
		}
		return nil
	}
	switch {
	case c.State != payment.Paid:
		return fmt.Errorf("the charge is %s", c.State)
	case amount.Currency != c.Amount.Currency || amount.Minor <= 0:
		return fmt.Errorf("%s can not be given back of %s", amount, c.Amount)
	case amount.Minor > c.Amount.Minor-c.refunded():
		return fmt.Errorf("%s is more than what is left of %s", amount, c.Amount)
	}
	if c.Refunds == nil {
		c.Refunds = map[string]int64{}
	}
	c.Refunds[id] = amount.Minor
	return nil
}

func (c *charge) refunded() (sum int64) {
	for _, minor := range c.Refunds {
		sum += minor
	}
	return sum
}
