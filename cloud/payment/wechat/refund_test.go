package wechat_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vendline/cloud/payment"
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
	p, f, r := refundable(t, "SUCCESS")
	rapid.Check(t, func(rt *rapid.T) {
		clear(f.charges[tradeNo].refunds)
		ids := rapid.SliceOfNDistinct(rapid.String(), 2, 2, rapid.ID).Draw(rt, "ids")
		r.Amount = yuan(100)
		for _, id := range append(ids, ids...) {
			r.ID = id
			if _, err := p.Refund(t.Context(), r); err != nil {
				rt.Fatalf("%q: %v", id, err)
			}
		}
		for no := range f.charges[tradeNo].refunds {
			if no == "" || len(no) > 64 || strings.Trim(no, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-|*@") != "" {
				rt.Fatalf("%q is sent", no)
			}
		}
		if got := f.charges[tradeNo].refunded(); got != 200 {
			rt.Fatalf("%d given back", got)
		}
	})
}
