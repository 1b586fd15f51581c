package alipay

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"vendline/cloud/payment"
)

const signType = "RSA2"

// content is what Alipay signs of parameters: name=value of all but the given
// names, decoded, sorted by name and joined with &.
func content(params url.Values, but ...string) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if slices.Contains(but, name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name + "=" + params.Get(name))
	}
	return []byte(b.String())
}

func sign(key *rsa.PrivateKey, what []byte) (string, error) {
	digest := sha256.Sum256(what)
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		return "", fmt.Errorf("alipay: sign: %w", err)
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}

func verify(key *rsa.PublicKey, what []byte, signature string) error {
	if strings.ContainsAny(signature, "\r\n") { // which base64 would overlook
		return errors.New("the signature is broken over lines")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(signature)
	if err != nil {
		return errors.New("the signature is not base64")
	}
	digest := sha256.Sum256(what)
	if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], raw); err != nil {
		return errors.New("the signature does not fit; is the public key Alipay's, of this app?")
	}
	return nil
}

func unsigned(format string, args ...any) error {
	return errors.Join(payment.ErrUnsigned, fmt.Errorf("alipay: "+format, args...))
}
