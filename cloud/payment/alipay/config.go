package alipay

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"vendline/cloud/payment"
)

// Config is what the open platform shows.
type Config struct {
	Gateway string // default: https://openapi.alipay.com/gateway.do
	AppID   string
	Seller  string // the merchant's user id, "2088…"

	Key    *rsa.PrivateKey // of the app; see ReadPrivateKey
	Alipay *rsa.PublicKey  // Alipay's, not the app's; see ReadPublicKey

	HTTP  *http.Client     // default: one with a timeout of 10 s
	Clock func() time.Time // default: time.Now
}

// Provider is Alipay as the rest of the cloud sees it.
type Provider struct{ cfg Config }

var _ payment.Provider = (*Provider)(nil)

// New returns a provider, or an error that says what is missing.
func New(cfg Config) (*Provider, error) {
	if cfg.Gateway == "" {
		cfg.Gateway = "https://openapi.alipay.com/gateway.do"
	}
	if u, err := url.Parse(cfg.Gateway); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return nil, fmt.Errorf("alipay: %q is not the address of a gateway", cfg.Gateway)
	}
	if cfg.AppID == "" || cfg.Seller == "" {
		return nil, errors.New("alipay: an app id and a seller id (2088…) are needed")
	}
	if cfg.Key == nil {
		return nil, errors.New("alipay: the app's private key is needed")
	}
	if cfg.Alipay == nil {
		return nil, errors.New("alipay: Alipay's public key is needed; without it no callback can be verified")
	}
	if cfg.Alipay.Equal(&cfg.Key.PublicKey) {
		return nil, errors.New("alipay: this public key is the app's own; take the one that the platform calls Alipay's")
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Timeout: 10 * time.Second}
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Provider{cfg}, nil
}

// Name is "alipay".
func (p *Provider) Name() string { return "alipay" }

// timeLayout is how Alipay writes a time, in the zone of shanghai.
const timeLayout = "2006-01-02 15:04:05"

// shanghai is fixed: China has one zone without summer time, and a machine's
// zone files may be missing.
func shanghai() *time.Location { return time.FixedZone("Asia/Shanghai", 8*60*60) }
