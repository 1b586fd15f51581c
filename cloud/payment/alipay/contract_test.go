package alipay_test

import (
	"net/http"
	"testing"

	"vendline/cloud/payment"
	"vendline/cloud/payment/alipay"
	"vendline/cloud/payment/paymenttest"
)

func open(t testing.TB) (*alipay.Provider, *fake) {
	t.Helper()
	f := &fake{t: t, clock: paymenttest.NewClock(), codes: map[string]*code{}, charges: map[string]*trade{}}
	p, err := alipay.New(config(f))
	if err != nil {
		t.Fatal(err)
	}
	return p, f
}

func config(f *fake) alipay.Config {
	return alipay.Config{AppID: appID, Seller: seller, Key: keys().app, Alipay: &keys().alipay.PublicKey, HTTP: &http.Client{Transport: f}, Clock: f.clock.Now}
}

func TestContract(t *testing.T) {
	paymenttest.Run(t, func(t *testing.T) paymenttest.Rig {
		p, f := open(t)
		return paymenttest.Rig{
			Provider: p, Clock: f.clock, Merchant: seller, Pay: f.pay,
			Callback: func(tradeNo string) payment.Notification { return f.callback(f.says(tradeNo)) },
			Charges:  func() int { return len(f.codes) },
			Refunded: func(tradeNo string) int64 { return f.charges[tradeNo].refunded() },
			Forms:    true, Shy: true, Repeats: true,
		}
	})
}
