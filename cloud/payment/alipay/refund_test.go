package alipay_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vendline/cloud/payment"
)

func refundable(t *testing.T) (payment.Provider, *fake, payment.Refund) {
	t.Helper()
	p, f := open(t)
	f.codes[tradeNo] = &code{fen: 350}
	if err := f.pay(tradeNo); err != nil {
		t.Fatal(err)
	}
	return p, f, payment.Refund{ID: "01900000-0000-7000-8000-0000000000aa", TradeNo: tradeNo, Amount: cny(150), Total: cny(350), Reason: "did not drop"}
}

func TestARefundThatIsNotDoneYetIsPending(t *testing.T) {
	p, f, r := refundable(t)
	f.slow = true
	for range 2 {
		if got, err := p.Refund(t.Context(), r); err != nil || got != payment.RefundPending || f.charges[tradeNo].refunded() != 150 {
			t.Errorf("refund: %q, %v", got, err)
		}
	}
	f.slow = false
	if got, err := p.Refund(t.Context(), r); err != nil || got != payment.RefundDone || f.charges[tradeNo].refunded() != 150 {
		t.Errorf("later: %q, %v", got, err)
	}
}

func TestARefusedRefundIsFinalOnlyWhenRepeatingIsInVain(t *testing.T) {
	for code, final := range map[string]bool{
		"ACQ.SELLER_BALANCE_NOT_ENOUGH": true, "ACQ.TRADE_HAS_FINISHED": true, "ACQ.DISCORDANT_REPEAT_REQUEST": true,
		"ACQ.TRADE_STATUS_ERROR": true, "ACQ.SYSTEM_ERROR": false, "AQC.SYSTEM_ERROR": false, "ACQ.NEWS": false,
	} {
		_, f, r := refundable(t)
		p := through(t, f, func(_ url.Values, resp *http.Response) {
			raw := `{"code":"40004","msg":"Business Failed","sub_code":"` + code + `"}`
			say(resp, `{"alipay_trade_refund_response":`+raw+`,"sign":"`+f.sign(raw)+`"}`)
		})
		if _, err := p.Refund(t.Context(), r); err == nil || errors.Is(err, payment.ErrRefused) != final {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestAnyRefundIDFitsAlipay(t *testing.T) {
	p, f, r := refundable(t)
	r.Amount = cny(100)
	rapid.Check(t, func(rt *rapid.T) {
		clear(f.charges[tradeNo].refunds)
		ids := rapid.SliceOfNDistinct(rapid.String(), 2, 2, rapid.ID).Draw(rt, "ids")
		for _, id := range append(ids, ids...) {
			r.ID = id
			if _, err := p.Refund(t.Context(), r); err != nil {
				rt.Fatalf("%q: %v", id, err)
			}
		}
		for no := range f.charges[tradeNo].refunds {
			if no == "" || len(no) > 64 || strings.Trim(no, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
				rt.Fatalf("%q is sent", no)
			}
		}
		if got := f.charges[tradeNo].refunded(); got != 200 {
			rt.Fatalf("%d given back", got)
		}
	})
	clear(f.charges[tradeNo].refunds)
	r.ID = "01900000-0000-7000-8000-0000000000aa"
	if _, err := p.Refund(t.Context(), r); err != nil {
		t.Errorf("a UUID: %v", err)
	}
	if f.charges[tradeNo].refunds[strings.ReplaceAll(r.ID, "-", "")] != 100 {
		t.Errorf("a UUID is sent as %v", f.charges[tradeNo].refunds)
	}
}
