package callback

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Headers of a callback.
const (
	HeaderTimestamp = "Vendline-Timestamp" // Unix seconds, when it was sent
	HeaderID        = "Vendline-Id"        // the same however often it is sent
	HeaderSignature = "Vendline-Signature"
)

// Sign is the signature of a callback: HMAC-SHA256 in hex over timestamp, id and
// body, with a line feed after each. The receiver computes the same, compares in
// constant time, and refuses a timestamp more than five minutes off.
func Sign(secret []byte, timestamp, id string, body []byte) string {
	m := hmac.New(sha256.New, secret)
	for _, part := range [][]byte{[]byte(timestamp), []byte(id), body} {
		_, _ = m.Write(part) // never fails
		_, _ = m.Write([]byte{'\n'})
	}
	return hex.EncodeToString(m.Sum(nil))
}
