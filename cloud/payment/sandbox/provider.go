package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

// Config is what the provider needs to know.
type Config struct {
	BaseURL  string // of the Server, "http://127.0.0.1:8090"
	Secret   string // shared with the Server
	Merchant string // whose charges they are

	HTTP  *http.Client     // default: one with a timeout of 10 s
	Clock func() time.Time // default: time.Now
	Nonce func() string    // default: random
}

// Provider is the sandbox as the rest of the cloud sees it.
type Provider struct{ cfg Config }

var _ payment.Provider = (*Provider)(nil)

// New returns a provider, or an error that says what is missing.
func New(cfg Config) (*Provider, error) {
	if len(cfg.Secret) < minSecret {
		return nil, errSecret
	}
	if cfg.Merchant == "" {
		return nil, errors.New("sandbox: a merchant is needed; any name will do, the same as the server's")
	}
	if u, err := url.Parse(cfg.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("sandbox: %q is not the address of a sandbox server", cfg.BaseURL)
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Timeout: 10 * time.Second}
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Nonce == nil {
		cfg.Nonce = rand.Text
	}
	return &Provider{cfg}, nil
}

// Name is "sandbox".
func (p *Provider) Name() string { return "sandbox" }

// Create announces a charge; the shopper pays it on the page it returns.
func (p *Provider) Create(ctx context.Context, c payment.Charge) (payment.Prepay, error) {
	r, err := p.call(ctx, request{
		Op: opCreate, TradeNo: c.TradeNo, Amount: c.Amount.Minor, Currency: c.Amount.Currency,
		Description: c.Description, ExpiresAt: seconds(c.ExpiresAt), NotifyURL: c.NotifyURL,
	})
	if err != nil {
		return payment.Prepay{}, err
	}
	return payment.Prepay{URL: r.URL}, nil
}

// Query asks where a charge stands.
func (p *Provider) Query(ctx context.Context, tradeNo string) (payment.Charged, error) {
	r, err := p.call(ctx, request{Op: opQuery, TradeNo: tradeNo})
	if err != nil {
		return payment.Charged{}, err
	}
	switch state := payment.ChargeState(r.State); state {
	case payment.NotFound, payment.Unpaid, payment.Closed, payment.Paid:
		return payment.Charged{
			State: state, Amount: money.Money{Minor: r.Amount, Currency: r.Currency},
			Merchant: r.Merchant, Ref: r.Ref, PaidAt: at(r.PaidAt),
		}, nil
	}
	return payment.Charged{}, fmt.Errorf("sandbox: the server says that charge %s is %.40q", tradeNo, r.State)
}

// Close makes sure that a charge can not be paid any more.
func (p *Provider) Close(ctx context.Context, tradeNo string) error {
	_, err := p.call(ctx, request{Op: opClose, TradeNo: tradeNo})
	return err
}

// Refund gives money back, at once.
func (p *Provider) Refund(ctx context.Context, r payment.Refund) (payment.RefundState, error) {
	_, err := p.call(ctx, request{
		Op: opRefund, TradeNo: r.TradeNo, RefundID: r.ID, Amount: r.Amount.Minor, Currency: r.Amount.Currency, Reason: r.Reason,
	})
	if err != nil {
		return "", err
	}
	return payment.RefundDone, nil
}
