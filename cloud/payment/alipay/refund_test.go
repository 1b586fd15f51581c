package alipay_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vendline/cloud/payment"
	"vendline/cloud/payment/alipay"
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
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9A-Za-z/_-]{0,80}`)).Draw(t, "id")
		other := rapid.String().Filter(func(s string) bool { return s != id }).Draw(t, "other")
		no := alipay.RequestNo(id)
		if no == "" || len(no) > 64 || strings.Trim(no, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
			t.Fatalf("%q is sent as %q", id, no)
		}
		if no != alipay.RequestNo(id) || no == alipay.RequestNo(other) {
			t.Fatalf("%q and %q are sent as %q and %q", id, other, no, alipay.RequestNo(other))
		}
	})
}

func TestAUUIDStaysReadable(t *testing.T) {
	if got := alipay.RequestNo("01900000-0000-7000-8000-0000000000aa"); got != "019000000000700080000000000000aa" {
		t.Errorf("it is sent as %q", got)
	}
}
