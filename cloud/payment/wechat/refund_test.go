package wechat_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vendline/cloud/payment"
	"vendline/cloud/payment/wechat"
)

func refundable(t *testing.T, status string) (payment.Provider, *fake, payment.Refund) {
	t.Helper()
	p, f := open(t)
	f.charges[tradeNo] = &charged{total: 350, state: "SUCCESS", ref: "4200", paidAt: f.clock.Now(), refunds: map[string]int64{}, status: status}
	return p, f, payment.Refund{ID: "01900000-0000-7000-8000-0000000000aa", TradeNo: tradeNo, Amount: yuan(150), Total: yuan(350), Reason: strings.Repeat("没有掉下来", 20)}
}

func TestARefundIsAsFarAsWeChatSays(t *testing.T) {
	for status, want := range map[string]payment.RefundState{"SUCCESS": payment.RefundDone, "PROCESSING": payment.RefundPending} {
		p, f, r := refundable(t, status)
		for range 2 {
			if got, err := p.Refund(t.Context(), r); err != nil || got != want || f.charges[tradeNo].refunded() != 150 {
				t.Errorf("%s: %q, %v", status, got, err)
			}
		}
	}
	for status, final := range map[string]bool{"ABNORMAL": true, "CLOSED": true, "NEWS": false} {
		p, _, r := refundable(t, status)
		if got, err := p.Refund(t.Context(), r); err == nil || errors.Is(err, payment.ErrRefused) != final {
			t.Errorf("%s: %q, %v", status, got, err)
		}
	}
}

func TestARefusedRefundIsFinalOnlyWhenRepeatingIsInVain(t *testing.T) {
	for code, final := range map[string]bool{
		"NOT_ENOUGH": true, "USER_ACCOUNT_ABNORMAL": true, "INVALID_REQUEST": true, "NO_AUTH": true, "RESOURCE_NOT_EXISTS": true,
		"FREQUENCY_LIMITED": false, "SIGN_ERROR": false, "SYSTEM_ERROR": false, "": false,
	} {
		_, f, r := refundable(t, "SUCCESS")
		p := through(t, f, func(_ *http.Request, resp *http.Response) {
			resp.StatusCode, resp.Header = 403, http.Header{}
			resp.Body = io.NopCloser(strings.NewReader(`{"code":"` + code + `","message":"…"}`))
		})
		if _, err := p.Refund(t.Context(), r); err == nil || errors.Is(err, payment.ErrRefused) != final {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestAnyRefundIDFitsWeChat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9A-Za-z/_-]{0,80}`)).Draw(t, "id")
		other := rapid.String().Filter(func(s string) bool { return s != id }).Draw(t, "other")
		no := wechat.RefundNo(id)
		if no == "" || len(no) > 64 || strings.Trim(no, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-|*@") != "" {
			t.Fatalf("%q is sent as %q", id, no)
		}
		if no != wechat.RefundNo(id) || no == wechat.RefundNo(other) {
			t.Fatalf("%q and %q are sent as %q and %q", id, other, no, wechat.RefundNo(other))
		}
	})
}
