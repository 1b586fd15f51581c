package sandbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

// refundOf asks for a part of the charge back.
func (r *rig) refundOf(c payment.Charge, id string) error {
	_, err := r.Refund(context.Background(), payment.Refund{ID: id, TradeNo: c.TradeNo, Amount: money.Money{Minor: 10, Currency: "CNY"}, Total: c.Amount})
	return err
}

func TestMagicAmountsOfCallbacks(t *testing.T) {
	for _, c := range []struct {
		name         string
		minor        int64
		atOnce, late int // callbacks heard at once, and after 30 s
		said         money.Money
	}{
		{"an ordinary one", 350, 1, 1, money.Money{Minor: 350, Currency: "CNY"}},
		{"91 is lost", 391, 0, 0, money.Money{}},
		{"92 is late", 392, 0, 1, money.Money{Minor: 392, Currency: "CNY"}},
		{"93 comes 20 times", 393, 20, 20, money.Money{Minor: 393, Currency: "CNY"}},
		{"94 says less", 394, 1, 1, money.Money{Minor: 393, Currency: "CNY"}},
		{"95 says dollars", 395, 1, 1, money.Money{Minor: 395, Currency: "USD"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t)
			r.paid(t, c.minor)
			r.server.Deliver(t.Context())
			if n := len(r.cloud.heard); n != c.atOnce {
				t.Errorf("%d heard at once", n)
			}
			r.clock.Pass(30 * time.Second)
			r.server.Deliver(t.Context())
			if n := len(r.cloud.heard); n != c.late {
				t.Errorf("%d heard after 30 s", n)
			}
			ids := map[string]bool{}
			for _, n := range r.cloud.heard {
				if n.Amount != c.said || n.Retry {
					t.Errorf("it says %+v", n)
				}
				ids[n.ID] = true
			}
			if len(ids) != c.late || len(r.cloud.bad) != 0 {
				t.Errorf("%d IDs, refused: %v", len(ids), r.cloud.bad)
			}
			if got, err := r.Query(t.Context(), tradeNo); err != nil || got.Amount.Minor != c.minor || got.State != payment.Paid {
				t.Errorf("the query says %+v, %v", got, err)
			}
		})
	}
}

func TestARefundThatStumblesIsMadeOnce(t *testing.T) {
	r := open(t)
	c := r.paid(t, 396)
	for i, want := range []int64{0, 0, 10} {
		if err := r.refundOf(c, "r"); err == nil || errors.Is(err, payment.ErrRefused) {
			t.Errorf("call %d: %v", i+1, err)
		}
		if got := r.server.Refunded(tradeNo); got != want {
			t.Errorf("call %d gave %d back", i+1, got)
		}
	}
	if err := r.refundOf(c, "r"); err != nil || r.server.Refunded(tradeNo) != 10 {
		t.Errorf("call 4: %v, %d given back", err, r.server.Refunded(tradeNo))
	}
}

func TestARefundCanBeRefusedForGood(t *testing.T) {
	r := open(t)
	c := r.paid(t, 397)
	for range 5 {
		if err := r.refundOf(c, "r"); !errors.Is(err, payment.ErrRefused) {
			t.Errorf("refund: %v", err)
		}
	}
}

func TestACreateThatStumblesIsMadeOnce(t *testing.T) {
	r := open(t)
	c := r.charge(398)
	for i, want := range []int{0, 1} {
		if _, err := r.Create(t.Context(), c); err == nil || errors.Is(err, payment.ErrRefused) || r.server.Charged() != want {
			t.Errorf("call %d: %v, %d charges", i+1, err, r.server.Charged())
		}
	}
	if p, err := r.Create(t.Context(), c); err != nil || p.URL != "http://sandbox.example/pay/"+tradeNo || r.server.Charged() != 1 {
		t.Errorf("call 3: %+v, %v", p, err)
	}
}

func TestSilenceLeavesTheOutcomeUnknown(t *testing.T) {
	r := open(t)
	r.paid(t, 399)
	_, err := r.Query(t.Context(), tradeNo)
	for what, err := range map[string]error{"query": err, "close": r.Close(t.Context(), tradeNo)} {
		if err == nil || errors.Is(err, payment.ErrPaid) || errors.Is(err, payment.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	r.server.Deliver(t.Context())
	if len(r.cloud.heard) != 1 {
		t.Errorf("%d callbacks heard", len(r.cloud.heard))
	}
}
