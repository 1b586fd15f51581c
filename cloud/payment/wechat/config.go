package wechat

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"vendline/cloud/payment"
)

// Config is what the merchant platform shows.
type Config struct {
	BaseURL  string // default: https://api.mch.weixin.qq.com
	AppID    string
	Merchant string // mchid

	Serial string          // of the merchant's own certificate
	Key    *rsa.PrivateKey // of the same; see ReadPrivateKey

	// Platform holds WeChat's keys by what Wechatpay-Serial calls them: the
	// serial of a platform certificate, or "PUB_KEY_ID_…". While WeChat changes
	// keys both are needed; a serial that is not here is refused.
	Platform map[string]*rsa.PublicKey
	APIv3Key string // 32 bytes

	HTTP  *http.Client     // default: one with a timeout of 10 s
	Clock func() time.Time // default: time.Now
	Nonce func() string    // default: random
}

// Provider is WeChat Pay as the rest of the cloud sees it.
type Provider struct {
	cfg  Config
	aead cipher.AEAD // opens what callbacks say
}

var _ payment.Provider = (*Provider)(nil)

// New returns a provider, or an error that says what is missing.
func New(cfg Config) (*Provider, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = "https://api.mch.weixin.qq.com"
	}
	cfg.BaseURL = strings.TrimSuffix(cfg.BaseURL, "/")
	if u, err := url.Parse(cfg.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("wechat: %q is not the address of an API", cfg.BaseURL)
	}
	if cfg.AppID == "" || cfg.Merchant == "" {
		return nil, errors.New("wechat: an app id and a merchant id (mchid) are needed")
	}
	if cfg.Serial == "" || cfg.Key == nil {
		return nil, errors.New("wechat: the merchant's private key is needed, and its certificate's serial: openssl x509 -in apiclient_cert.pem -noout -serial")
	}
	if len(cfg.Platform) == 0 {
		return nil, errors.New("wechat: at least one platform certificate or public key of WeChat Pay is needed; without one no callback can be verified")
	}
	for serial, key := range cfg.Platform {
		if serial == "" || key == nil {
			return nil, fmt.Errorf("wechat: the platform key %q is empty", serial)
		}
	}
	if len(cfg.APIv3Key) != 32 {
		return nil, fmt.Errorf("wechat: the API v3 key has 32 bytes, this one %d", len(cfg.APIv3Key))
	}
	block, err := aes.NewCipher([]byte(cfg.APIv3Key))
	if err != nil {
		return nil, fmt.Errorf("wechat: API v3 key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("wechat: API v3 key: %w", err)
	}
	cfg.Platform = maps.Clone(cfg.Platform)
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Timeout: 10 * time.Second}
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Nonce == nil {
		cfg.Nonce = rand.Text
	}
	return &Provider{cfg, aead}, nil
}

// Name is "wechat".
func (p *Provider) Name() string { return "wechat" }
