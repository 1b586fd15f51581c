package paymenttest

import (
	"errors"
	"testing"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

func createTwice(t *testing.T, r Rig) {
	c := r.charge(order, price)
	for range 2 {
		p, err := r.Provider.Create(t.Context(), c)
		if err != nil || p.URL == "" && len(p.Params) == 0 {
			t.Fatalf("create: %+v, %v", p, err)
		}
	}
	if n := r.Charges(); n != 1 {
		t.Errorf("the server knows %d charges", n)
	}
	want := payment.Unpaid
	if r.Shy {
		want = payment.NotFound
	}
	if got := r.query(t, c.TradeNo); got.State != want || !got.PaidAt.IsZero() || got.Ref != "" {
		t.Errorf("a fresh charge is %+v", got)
	}
}

func createOther(t *testing.T, r Rig) {
	c := r.created(t)
	if r.Shy {
		return // what was never opened may still change
	}
	c.Amount.Minor++
	if _, err := r.Provider.Create(t.Context(), c); !errors.Is(err, payment.ErrRefused) {
		t.Errorf("another amount: %v", err)
	}
}

func queryUnknown(t *testing.T, r Rig) {
	if got := r.query(t, payment.TradeNo(order)); got.State != payment.NotFound {
		t.Errorf("it is %+v", got)
	}
}

func paySeen(t *testing.T, r Rig) {
	c := r.paid(t)
	got := r.query(t, c.TradeNo)
	if got.State != payment.Paid || got.Amount != c.Amount || got.Merchant != r.Merchant || got.Ref == "" {
		t.Errorf("it is %+v", got)
	}
	if !got.PaidAt.Equal(r.Clock.Now()) {
		t.Errorf("paid at %v, not %v", got.PaidAt, r.Clock.Now())
	}
}

func createPaid(t *testing.T, r Rig) {
	c := r.paid(t)
	if _, err := r.Provider.Create(t.Context(), c); !errors.Is(err, payment.ErrPaid) {
		t.Errorf("create: %v", err)
	}
	if got := r.query(t, c.TradeNo); got.State != payment.Paid {
		t.Errorf("it is %+v", got)
	}
}

func closeUnpaid(t *testing.T, r Rig) {
	c := r.created(t)
	if err := r.Provider.Close(t.Context(), c.TradeNo); err != nil {
		t.Fatalf("close: %v", err)
	}
	if err := r.Pay(c.TradeNo); err == nil {
		t.Error("it could be paid")
	}
	if got := r.query(t, c.TradeNo); got.State != payment.Closed && !(r.Shy && got.State == payment.NotFound) {
		t.Errorf("it is %+v", got)
	}
	if _, err := r.Provider.Create(t.Context(), c); !errors.Is(err, payment.ErrRefused) {
		t.Errorf("creating it again: %v", err)
	}
}

func closeUnseen(t *testing.T, r Rig) {
	c := r.created(t)
	for range 2 {
		if err := r.Provider.Close(t.Context(), c.TradeNo); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if err := r.Pay(c.TradeNo); err == nil {
		t.Error("it could be paid")
	}
}

func closePaid(t *testing.T, r Rig) {
	c := r.paid(t)
	if err := r.Provider.Close(t.Context(), c.TradeNo); !errors.Is(err, payment.ErrPaid) {
		t.Errorf("close: %v", err)
	}
	if got := r.query(t, c.TradeNo); got.State != payment.Paid || r.Refunded(c.TradeNo) != 0 {
		t.Errorf("it is %+v, with %d given back", got, r.Refunded(c.TradeNo))
	}
}

func closeUnknown(t *testing.T, r Rig) {
	if err := r.Provider.Close(t.Context(), payment.TradeNo(order)); err != nil {
		t.Errorf("close: %v", err)
	}
}

func closeTwice(t *testing.T, r Rig) {
	c := r.created(t)
	for range 3 {
		if err := r.Provider.Close(t.Context(), c.TradeNo); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func (r Rig) yuan(minor int64) money.Money { return money.Money{Minor: minor, Currency: "CNY"} }
