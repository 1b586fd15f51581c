package wechat_test

import (
	"crypto/rsa"
	"net/http"
	"testing"

	"vendline/cloud/payment/paymenttest"
	"vendline/cloud/payment/wechat"
)

const oldSerial, newSerial = "5157F09EFDC096DE", "PUB_KEY_ID_0119000001092024"

// open makes a provider that knows two of WeChat's keys, and a WeChat that
// signs with the old one.
func open(t testing.TB) (*wechat.Provider, *fake) {
	t.Helper()
	f := &fake{t: t, clock: paymenttest.NewClock(), key: keys().oldPlatform, charges: map[string]*charged{}, seen: map[string]bool{}}
	serial, old, err := wechat.ReadCertificate(certificate(t, 0x5157F09EFDC096DE, f.key))
	if err != nil || serial != oldSerial {
		t.Fatalf("certificate %s, %v", serial, err)
	}
	f.serial = serial
	cfg := config(f)
	cfg.Platform[oldSerial] = old
	p, err := wechat.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, f
}

func config(f *fake) wechat.Config {
	return wechat.Config{
		AppID: appID, Merchant: merchant, Serial: "MERCHANT01", Key: keys().merchant, APIv3Key: apiV3Key,
		Platform: map[string]*rsa.PublicKey{newSerial: &keys().newPlatform.PublicKey}, HTTP: &http.Client{Transport: f}, Clock: f.clock.Now,
	}
}

func TestContract(t *testing.T) {
	paymenttest.Run(t, func(t *testing.T) paymenttest.Rig {
		p, f := open(t)
		return paymenttest.Rig{
			Provider: p, Clock: f.clock, Merchant: merchant, Pay: f.pay, Callback: f.callback,
			Charges:  func() int { return len(f.charges) },
			Refunded: func(tradeNo string) int64 { return f.charges[tradeNo].refunded() },
			Signed:   []string{"Wechatpay-Timestamp", "Wechatpay-Nonce", "Wechatpay-Serial", "Wechatpay-Signature"},
			Repeats:  true,
		}
	})
}
