package wechat_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"vendline/cloud/payment/wechat"
)

func TestConfigurationErrorsSayWhatIsWrong(t *testing.T) {
	_, f := open(t)
	for name, change := range map[string]func(*wechat.Config){
		"address":      func(c *wechat.Config) { c.BaseURL = "api.mch.weixin.qq.com" },
		"app":          func(c *wechat.Config) { c.AppID = "" },
		"merchant":     func(c *wechat.Config) { c.Merchant = "" },
		"serial":       func(c *wechat.Config) { c.Serial = "" },
		"key":          func(c *wechat.Config) { c.Key = nil },
		"platform":     func(c *wechat.Config) { c.Platform = nil },
		"platform key": func(c *wechat.Config) { c.Platform = map[string]*rsa.PublicKey{"x": nil} },
		"no name":      func(c *wechat.Config) { c.Platform = map[string]*rsa.PublicKey{"": &keys().oldPlatform.PublicKey} },
		"api key":      func(c *wechat.Config) { c.APIv3Key = "short" },
	} {
		cfg := config(f)
		change(&cfg)
		if _, err := wechat.New(cfg); err == nil {
			t.Errorf("without a good %s it starts", name)
		}
	}
}

func TestKeysAreReadFromTheirFiles(t *testing.T) {
	key := keys().merchant
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range []*pem.Block{
		{Type: "PRIVATE KEY", Bytes: pkcs8}, {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)},
	} {
		if got, err := wechat.ReadPrivateKey(pem.EncodeToMemory(block)); err != nil || !got.Equal(key) {
			t.Errorf("%s: %v", block.Type, err)
		}
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := wechat.ReadPublicKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})); err != nil || !got.Equal(&key.PublicKey) {
		t.Errorf("public key: %v", err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.MarshalPKIXPublicKey(&curve.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{nil, []byte("hello"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: other})} {
		if _, err := wechat.ReadPublicKey(bad); err == nil {
			t.Errorf("%q is read as a public key", bad)
		}
		if _, err := wechat.ReadPrivateKey(bad); err == nil {
			t.Errorf("%q is read as a private key", bad)
		}
		if _, _, err := wechat.ReadCertificate(bad); err == nil {
			t.Errorf("%q is read as a certificate", bad)
		}
	}
}
