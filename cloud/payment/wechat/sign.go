package wechat

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"vendline/cloud/payment"
)

// Headers by which WeChat signs.
const (
	headerSerial    = "Wechatpay-Serial"
	headerSignature = "Wechatpay-Signature"
	headerTimestamp = "Wechatpay-Timestamp"
	headerNonce     = "Wechatpay-Nonce"
)

const (
	scheme    = "WECHATPAY2-SHA256-RSA2048"
	tolerance = 5 * time.Minute
	maxBody   = 256 << 10
)

// authorization signs a request; target is its path and query as sent.
func (p *Provider) authorization(method, target string, body []byte) (string, error) {
	timestamp, nonce := strconv.FormatInt(p.cfg.Clock().Unix(), 10), p.cfg.Nonce()
	digest := sha256.Sum256([]byte(method + "\n" + target + "\n" + timestamp + "\n" + nonce + "\n" + string(body) + "\n"))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.cfg.Key, crypto.SHA256, digest[:])
	if err != nil {
		return "", fmt.Errorf("wechat: sign: %w", err)
	}
	return fmt.Sprintf(`%s mchid="%s",nonce_str="%s",timestamp="%s",serial_no="%s",signature="%s"`,
		scheme, p.cfg.Merchant, nonce, timestamp, p.cfg.Serial, base64.StdEncoding.EncodeToString(signature)), nil
}

// verify checks that WeChat signed body. Errors wrap ErrUnsigned.
func (p *Provider) verify(h http.Header, body []byte, at time.Time) error {
	serial, timestamp, nonce := only(h, headerSerial), only(h, headerTimestamp), only(h, headerNonce)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	switch {
	case len(body) > maxBody:
		return unsigned("the body has %d bytes, at most %d", len(body), maxBody)
	// Neither may hold a newline: it would move the border to the body.
	case err != nil || strconv.FormatInt(seconds, 10) != timestamp:
		return unsigned("%s %.20q is not the time in seconds", headerTimestamp, timestamp)
	case nonce == "" || len(nonce) > 128 || strings.ContainsFunc(nonce, func(r rune) bool { return r <= ' ' || r > '~' }):
		return unsigned("%s is missing or malformed", headerNonce)
	}
	key := p.cfg.Platform[serial]
	if key == nil {
		return unsigned("no platform key is called %.80q; if WeChat has a new one, add it to the configuration beside the old", serial)
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(only(h, headerSignature))
	if err != nil {
		return unsigned("%s is not base64", headerSignature)
	}
	digest := sha256.Sum256([]byte(timestamp + "\n" + nonce + "\n" + string(body) + "\n"))
	if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature); err != nil {
		return unsigned("%s does not fit", headerSignature)
	}
	if age := at.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return unsigned("it is %v old, at most %v either way; check the clock", age.Round(time.Second), tolerance)
	}
	return nil
}

// only is a header's value when it is there once, and on one line: base64 would
// overlook more.
func only(h http.Header, name string) string {
	values := h.Values(name)
	if len(values) != 1 || strings.ContainsAny(values[0], "\r\n") {
		return ""
	}
	return values[0]
}

func unsigned(format string, args ...any) error {
	return errors.Join(payment.ErrUnsigned, fmt.Errorf("wechat: "+format, args...))
}
