package paymenttest

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"vendline/cloud/payment"
)

const refundID = "01900000-0000-7000-8000-0000000000aa"

func (r Rig) refund(c payment.Charge, id string, minor int64) payment.Refund {
	return payment.Refund{ID: id, TradeNo: c.TradeNo, Amount: r.yuan(minor), Total: c.Amount, Reason: "did not drop"}
}

func refundOnce(t *testing.T, r Rig) {
	c := r.paid(t)
	for range 3 {
		state, err := r.Provider.Refund(t.Context(), r.refund(c, refundID, 150))
		if err != nil || state != payment.RefundDone && state != payment.RefundPending {
			t.Fatalf("refund: %q, %v", state, err)
		}
		if got := r.Refunded(c.TradeNo); got != 150 {
			t.Fatalf("%d given back, not 150", got)
		}
	}
}

func refundTooMuch(t *testing.T, r Rig) {
	c := r.paid(t)
	if _, err := r.Provider.Refund(t.Context(), r.refund(c, refundID, price+1)); !errors.Is(err, payment.ErrRefused) {
		t.Errorf("more than the charge: %v", err)
	}
	if _, err := r.Provider.Refund(t.Context(), r.refund(c, "first", 300)); err != nil {
		t.Fatalf("a part: %v", err)
	}
	if _, err := r.Provider.Refund(t.Context(), r.refund(c, "second", price-300+1)); !errors.Is(err, payment.ErrRefused) {
		t.Errorf("more than what is left: %v", err)
	}
	if got := r.Refunded(c.TradeNo); got != 300 {
		t.Errorf("%d given back, not 300", got)
	}
}

func refundUnpaid(t *testing.T, r Rig) {
	c := r.created(t)
	if _, err := r.Provider.Refund(t.Context(), r.refund(c, refundID, price)); !errors.Is(err, payment.ErrRefused) {
		t.Errorf("unpaid: %v", err)
	}
	other := r.charge("01900000-0000-7000-8000-000000000002", price)
	if _, err := r.Provider.Refund(t.Context(), r.refund(other, refundID, price)); !errors.Is(err, payment.ErrRefused) {
		t.Errorf("unknown: %v", err)
	}
}

func refundedStaysPaid(t *testing.T, r Rig) {
	c := r.paid(t)
	for _, minor := range []int64{100, price - 100} {
		if _, err := r.Provider.Refund(t.Context(), r.refund(c, fmt.Sprint("part", minor), minor)); err != nil {
			t.Fatalf("refund: %v", err)
		}
		if got := r.query(t, c.TradeNo); got.State != payment.Paid || got.Amount != c.Amount {
			t.Errorf("after %d it is %+v", minor, got)
		}
	}
	if err := r.Provider.Close(t.Context(), c.TradeNo); !errors.Is(err, payment.ErrPaid) {
		t.Errorf("close: %v", err)
	}
}

// refundParts repeats and interleaves refunds at random: what is given back is
// the sum of those that were accepted, each counted once.
func refundParts(t *testing.T, r Rig) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		c := r.charge(fmt.Sprintf("01900000-0000-7000-9000-%012d", n), 100*rapid.Int64Range(1, 1000).Draw(rt, "hundreds"))
		if _, err := r.Provider.Create(t.Context(), c); err != nil {
			rt.Fatalf("create: %v", err)
		}
		if err := r.Pay(c.TradeNo); err != nil {
			rt.Fatalf("pay: %v", err)
		}
		given, left := map[string]int64{}, c.Amount.Minor
		amounts := rapid.SliceOfN(rapid.Int64Range(1, c.Amount.Minor), 1, 4).Draw(rt, "amounts")
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(amounts)-1), 1, 8).Draw(rt, "calls") {
			id := fmt.Sprintf("%s-%d", c.TradeNo, i)
			_, err := r.Provider.Refund(t.Context(), r.refund(c, id, amounts[i]))
			switch _, before := given[id]; {
			case before, amounts[i] <= left:
				if err != nil {
					rt.Fatalf("refund %d of %d: %v", amounts[i], left, err)
				}
				if !before {
					given[id], left = amounts[i], left-amounts[i]
				}
			case !errors.Is(err, payment.ErrRefused):
				rt.Fatalf("refund %d of %d: %v", amounts[i], left, err)
			}
			if got := r.Refunded(c.TradeNo); got != c.Amount.Minor-left {
				rt.Fatalf("%d given back, not %d", got, c.Amount.Minor-left)
			}
		}
	})
}
