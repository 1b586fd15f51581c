package sandbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"vendline/cloud/payment"
)

// Headers of a signed message.
const (
	HeaderTimestamp = "Vendline-Timestamp" // seconds since 1970
	HeaderNonce     = "Vendline-Nonce"     // 1 to 64 of [A-Za-z0-9_-], fresh for each message
	HeaderSignature = "Vendline-Signature" // lower-case hex
)

const (
	tolerance = 5 * time.Minute // how far the clocks of two sides may be apart
	minSecret = 16              // characters; shorter ones are guessed
	maxBody   = 64 << 10
)

var errSecret = fmt.Errorf("sandbox: the secret needs at least %d characters; make one with: openssl rand -hex 32", minSecret)

// Sign is the signature of a message: the HMAC-SHA256 under the secret, in hex,
// of timestamp, nonce and body, each ended by a newline.
func Sign(secret, timestamp, nonce string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "\n" + nonce + "\n"))
	mac.Write(body)
	mac.Write([]byte("\n"))
	return hex.EncodeToString(mac.Sum(nil))
}

// seal sets the headers that make body a message of this moment.
func seal(h http.Header, secret, nonce string, at time.Time, body []byte) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	h.Set(HeaderTimestamp, timestamp)
	h.Set(HeaderNonce, nonce)
	h.Set(HeaderSignature, Sign(secret, timestamp, nonce, body))
}

// unseal checks a message and returns its nonce. Errors wrap ErrUnsigned.
func unseal(h http.Header, secret string, at time.Time, body []byte) (nonce string, err error) {
	timestamp, nonce, signature := only(h, HeaderTimestamp), only(h, HeaderNonce), only(h, HeaderSignature)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	switch {
	case len(body) > maxBody:
		return "", unsigned("the body has %d bytes, at most %d", len(body), maxBody)
	// Neither may hold a newline: it would move the border to the body.
	case err != nil || strconv.FormatInt(seconds, 10) != timestamp:
		return "", unsigned("%s %.20q is not the time in seconds", HeaderTimestamp, timestamp)
	case !validToken(nonce):
		return "", unsigned("%s %.70q is not 1 to 64 letters and digits", HeaderNonce, nonce)
	case !hmac.Equal([]byte(signature), []byte(Sign(secret, timestamp, nonce, body))):
		return "", unsigned("%s does not fit; both sides need the same secret, and the body as it was sent", HeaderSignature)
	}
	if age := at.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return "", unsigned("it is %v old, at most %v either way; check both clocks", age.Round(time.Second), tolerance)
	}
	return nonce, nil
}

// only is a header's value when it is there once.
func only(h http.Header, name string) string {
	if values := h.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// validToken reports whether s may be a nonce or a trade number.
func validToken(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_' && r != '-'
	}) < 0
}

func unsigned(format string, args ...any) error {
	return errors.Join(payment.ErrUnsigned, fmt.Errorf("sandbox: "+format, args...))
}
