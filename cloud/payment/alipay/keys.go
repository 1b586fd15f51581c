package alipay

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// der reads a key as Alipay's platform and tools hand it out: base64 on one
// line, or PEM.
func der(text []byte) ([]byte, error) {
	if block, _ := pem.Decode(text); block != nil {
		return block.Bytes, nil
	}
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil || len(b) == 0 {
		return nil, errors.New("alipay: neither PEM nor the base64 that the platform shows")
	}
	return b, nil
}

// ReadPrivateKey reads the app's private key, PKCS#1 or PKCS#8.
func ReadPrivateKey(text []byte) (*rsa.PrivateKey, error) {
	b, err := der(text)
	if err != nil {
		return nil, err
	}
	if key, err := x509.ParsePKCS1PrivateKey(b); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(b)
	if err != nil {
		return nil, fmt.Errorf("alipay: private key: %w", err)
	}
	if key, ok := key.(*rsa.PrivateKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("alipay: the private key is a %T, not RSA", key)
}

// ReadPublicKey reads Alipay's public key.
func ReadPublicKey(text []byte) (*rsa.PublicKey, error) {
	b, err := der(text)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(b)
	if err != nil {
		return nil, fmt.Errorf("alipay: public key: %w", err)
	}
	if key, ok := key.(*rsa.PublicKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("alipay: the public key is a %T, not RSA", key)
}
