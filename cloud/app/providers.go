package app

import (
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vendline/cloud/payment"
	"vendline/cloud/payment/alipay"
	"vendline/cloud/payment/sandbox"
	"vendline/cloud/payment/wechat"
)

// providerFile is what --payments names: ways of paying, each with its keys as
// paths of files, seen from where the file itself is. See docs/payments.md.
type providerFile struct {
	WeChat *struct {
		BaseURL      string            `json:"base_url"`
		AppID        string            `json:"app_id"`
		Merchant     string            `json:"merchant"`
		Serial       string            `json:"serial"`
		KeyFile      string            `json:"key_file"`
		Certificates []string          `json:"platform_certificate_files"`
		PublicKeys   map[string]string `json:"platform_public_key_files"` // PUB_KEY_ID_… → path
		APIv3KeyFile string            `json:"api_v3_key_file"`
	} `json:"wechat"`
	Alipay *struct {
		Gateway       string `json:"gateway"`
		AppID         string `json:"app_id"`
		Seller        string `json:"seller"`
		KeyFile       string `json:"key_file"`
		AlipayKeyFile string `json:"alipay_key_file"`
	} `json:"alipay"`
}

// ReadProviders reads a --payments file and the keys it names.
func ReadProviders(path string) (map[string]payment.Provider, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f providerFile
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := keyReader{dir: filepath.Dir(path)}
	out := map[string]payment.Provider{}
	if w := f.WeChat; w != nil {
		cfg := wechat.Config{BaseURL: w.BaseURL, AppID: w.AppID, Merchant: w.Merchant, Serial: w.Serial, APIv3Key: r.text(w.APIv3KeyFile), Platform: map[string]*rsa.PublicKey{}}
		cfg.Key = key(&r, w.KeyFile, wechat.ReadPrivateKey)
		for _, c := range w.Certificates {
			serial, k, err := wechat.ReadCertificate(r.bytes(c))
			r.keep(c, err)
			cfg.Platform[serial] = k
		}
		for id, file := range w.PublicKeys {
			cfg.Platform[id] = key(&r, file, wechat.ReadPublicKey)
		}
		if r.err != nil {
			return nil, r.err
		}
		p, err := wechat.New(cfg)
		if err != nil {
			return nil, err
		}
		out[p.Name()] = p
	}
	if a := f.Alipay; a != nil {
		cfg := alipay.Config{Gateway: a.Gateway, AppID: a.AppID, Seller: a.Seller}
		cfg.Key = key(&r, a.KeyFile, alipay.ReadPrivateKey)
		cfg.Alipay = key(&r, a.AlipayKeyFile, alipay.ReadPublicKey)
		if r.err != nil {
			return nil, r.err
		}
		p, err := alipay.New(cfg)
		if err != nil {
			return nil, err
		}
		out[p.Name()] = p
	}
	return out, nil
}

// SandboxAt is the provider of a sandbox that runs elsewhere.
func SandboxAt(url, merchant, secretFile string) (payment.Provider, error) {
	r := keyReader{dir: "."}
	secret := r.text(secretFile)
	if r.err != nil {
		return nil, r.err
	}
	return sandbox.New(sandbox.Config{BaseURL: url, Secret: secret, Merchant: merchant})
}

// keyReader reads files until the first error, which it keeps.
type keyReader struct {
	dir string
	err error
}

func (r *keyReader) keep(file string, err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("payments: read %q: %w", file, err)
	}
}

func (r *keyReader) bytes(file string) []byte {
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.dir, file)
	}
	b, err := os.ReadFile(file)
	r.keep(file, err)
	return b
}

func (r *keyReader) text(file string) string { return strings.TrimSpace(string(r.bytes(file))) }

func key[K any](r *keyReader, file string, parse func([]byte) (*K, error)) *K {
	b := r.bytes(file)
	if r.err != nil {
		return nil
	}
	k, err := parse(b)
	r.keep(file, err)
	return k
}
