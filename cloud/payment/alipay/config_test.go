package alipay_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"testing"

	"vendline/cloud/payment/alipay"
)

func TestConfigurationErrorsSayWhatIsWrong(t *testing.T) {
	_, f := open(t)
	for name, change := range map[string]func(*alipay.Config){
		"address":        func(c *alipay.Config) { c.Gateway = "openapi.alipay.com/gateway.do" },
		"plain address":  func(c *alipay.Config) { c.Gateway = "https://openapi.alipay.com/gateway.do?charset=gbk" },
		"app":            func(c *alipay.Config) { c.AppID = "" },
		"seller":         func(c *alipay.Config) { c.Seller = "" },
		"key":            func(c *alipay.Config) { c.Key = nil },
		"Alipay key":     func(c *alipay.Config) { c.Alipay = nil },
		"key of another": func(c *alipay.Config) { c.Alipay = &c.Key.PublicKey },
	} {
		cfg := config(f)
		change(&cfg)
		if _, err := alipay.New(cfg); err == nil {
			t.Errorf("without a good %s it starts", name)
		}
	}
}

func TestKeysAreReadAsAlipayHandsThemOut(t *testing.T) {
	key := keys().app
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := x509.MarshalPKCS1PrivateKey(key)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	oneLine := func(der []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(der) + "\n") }
	inPEM := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	for i, text := range [][]byte{oneLine(pkcs1), oneLine(pkcs8), inPEM("RSA PRIVATE KEY", pkcs1), inPEM("PRIVATE KEY", pkcs8)} {
		if got, err := alipay.ReadPrivateKey(text); err != nil || !got.Equal(key) {
			t.Errorf("private key %d: %v", i, err)
		}
	}
	for i, text := range [][]byte{oneLine(public), inPEM("PUBLIC KEY", public)} {
		if got, err := alipay.ReadPublicKey(text); err != nil || !got.Equal(&key.PublicKey) {
			t.Errorf("public key %d: %v", i, err)
		}
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.MarshalPKIXPublicKey(&curve.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{nil, []byte(" "), []byte("hello!"), []byte("aGVsbG8="), oneLine(other)} {
		if _, err := alipay.ReadPublicKey(bad); err == nil {
			t.Errorf("%q is read as a public key", bad)
		}
		if _, err := alipay.ReadPrivateKey(bad); err == nil {
			t.Errorf("%q is read as a private key", bad)
		}
	}
}
