package pathtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"vendline/cloud/payment"
)

// till is a payment provider: what it knows outlives every process of ours.
type till struct {
	name string
	now  func() time.Time

	mu      sync.Mutex
	charges map[string]*tillCharge
	back    map[string]int64 // refund id → amount: each is given back once
	down    bool
	sent    int
}

type tillCharge struct {
	payment.Charge
	state payment.ChargeState
	paid  int // times that the shopper's money was taken
	back  int64
}

func newTill(name string, now func() time.Time) *till {
	return &till{name: name, now: now, charges: map[string]*tillCharge{}, back: map[string]int64{}}
}

var errAway = errors.New("till: no answer")

func (t *till) Name() string { return t.name }

// away lets the till answer, or not.
func (t *till) away(down bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.down = down
}

func (t *till) lock() error {
	t.mu.Lock()
	if t.down {
		t.mu.Unlock()
		return errAway
	}
	return nil
}

func (t *till) Create(_ context.Context, c payment.Charge) (payment.Prepay, error) {
	if err := t.lock(); err != nil {
		return payment.Prepay{}, err
	}
	defer t.mu.Unlock()
	switch was := t.charges[c.TradeNo]; {
	case was == nil:
		t.charges[c.TradeNo] = &tillCharge{Charge: c, state: payment.Unpaid}
	case was.state == payment.Paid:
		return payment.Prepay{}, payment.ErrPaid
	case was.state == payment.Closed || was.Amount != c.Amount:
		return payment.Prepay{}, payment.ErrRefused
	}
	return payment.Prepay{URL: "till://" + c.TradeNo}, nil
}

func (t *till) Query(_ context.Context, tradeNo string) (payment.Charged, error) {
	if err := t.lock(); err != nil {
		return payment.Charged{}, err
	}
	defer t.mu.Unlock()
	c := t.charges[tradeNo]
	if c == nil {
		return payment.Charged{State: payment.NotFound}, nil
	}
	return t.charged(c), nil
}

func (t *till) charged(c *tillCharge) payment.Charged {
	got := payment.Charged{State: c.state, Merchant: "m"}
	if c.state == payment.Paid {
		got.Amount, got.Ref, got.PaidAt = c.Amount, t.name+"-"+c.TradeNo[:8], t.now()
	}
	return got
}

func (t *till) Close(_ context.Context, tradeNo string) error {
	if err := t.lock(); err != nil {
		return err
	}
	defer t.mu.Unlock()
	switch c := t.charges[tradeNo]; {
	case c == nil:
		t.charges[tradeNo] = &tillCharge{Charge: payment.Charge{TradeNo: tradeNo}, state: payment.Closed}
	case c.state == payment.Paid:
		return payment.ErrPaid
	default:
		c.state = payment.Closed
	}
	return nil
}

func (t *till) Refund(_ context.Context, r payment.Refund) (payment.RefundState, error) {
	if err := t.lock(); err != nil {
		return "", err
	}
	defer t.mu.Unlock()
	c := t.charges[r.TradeNo]
	if c == nil || c.state != payment.Paid {
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
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.charges[tradeNo]
	if c == nil || c.state != payment.Unpaid {
		return false
	}
	c.state, c.paid = payment.Paid, 1
	return true
}

// callback is what the till sends about a charge that is paid.
func (t *till) callback(tradeNo string) (payment.Notification, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.charges[tradeNo]
	if c == nil || c.state != payment.Paid {
		return payment.Notification{}, false
	}
	t.sent++
	body, err := json.Marshal(payment.Notice{ID: fmt.Sprint(t.name, "-", t.sent), TradeNo: tradeNo, Charged: t.charged(c)})
	return payment.Notification{Body: body}, err == nil
}

// tillPort is a till as a mortal process reaches it.
type tillPort struct {
	p *process
	*till
}

func (t tillPort) Create(ctx context.Context, c payment.Charge) (payment.Prepay, error) {
	return through(t.p, "charge created", func() (payment.Prepay, error) { return t.till.Create(ctx, c) })
}

func (t tillPort) Close(ctx context.Context, tradeNo string) error {
	return pass(t.p, "charge closed", func() error { return t.till.Close(ctx, tradeNo) })
}

func (t tillPort) Refund(ctx context.Context, r payment.Refund) (payment.RefundState, error) {
	return through(t.p, "refund made", func() (payment.RefundState, error) { return t.till.Refund(ctx, r) })
}
