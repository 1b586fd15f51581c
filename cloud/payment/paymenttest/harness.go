// Package paymenttest is the contract that every payment provider keeps, run
// against the provider's own server or a fake that signs and refuses like it.
package paymenttest

import (
	"testing"
	"time"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

// Harness makes a provider with a server that nobody else uses.
type Harness func(t *testing.T) Rig

// Rig is a provider, and what only its shoppers and its server can do.
type Rig struct {
	Provider payment.Provider
	Clock    *Clock // the time of both
	Merchant string // whose charges they are

	// Pay is the shopper paying; an error says that the provider refuses.
	Pay func(tradeNo string) error
	// Callback is what the provider sends now about a charge that is paid.
	Callback func(tradeNo string) payment.Notification
	// Charges is how many charges the server knows.
	Charges func() int
	// Refunded is how much of a charge the server has given back.
	Refunded func(tradeNo string) int64

	Signed  []string // the headers that carry signature, time, nonce and key
	Forms   bool     // bodies are forms, where a name may not be there twice
	Shy     bool     // hears of a charge only when a shopper opens it
	Repeats bool     // sends a callback again under the same ID
}

// charge is one that no rule of a sandbox makes special.
func (r Rig) charge(id string, minor int64) payment.Charge {
	return payment.Charge{
		TradeNo:     payment.TradeNo(id),
		Amount:      money.Money{Minor: minor, Currency: "CNY"},
		Description: "Vendline C001",
		ExpiresAt:   r.Clock.Now().Add(15 * time.Minute),
		NotifyURL:   "https://vend.example/v1/payments/" + r.Provider.Name() + "/notify",
	}
}

const (
	order = "01900000-0000-7000-8000-000000000001"
	price = 350
)

func (r Rig) created(t *testing.T) payment.Charge {
	t.Helper()
	c := r.charge(order, price)
	if _, err := r.Provider.Create(t.Context(), c); err != nil {
		t.Fatalf("create: %v", err)
	}
	return c
}

func (r Rig) paid(t *testing.T) payment.Charge {
	t.Helper()
	c := r.created(t)
	if err := r.Pay(c.TradeNo); err != nil {
		t.Fatalf("pay: %v", err)
	}
	return c
}

func (r Rig) query(t *testing.T, tradeNo string) payment.Charged {
	t.Helper()
	got, err := r.Provider.Query(t.Context(), tradeNo)
	if err != nil {
		t.Fatalf("query: %v", err)
	}
	return got
}
