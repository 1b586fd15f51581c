package wechat

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// ReadPrivateKey reads the merchant's apiclient_key.pem.
func ReadPrivateKey(file []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(file)
	if block == nil {
		return nil, errors.New("wechat: not a PEM file; the private key is apiclient_key.pem")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("wechat: private key: %w", err)
	}
	if key, ok := key.(*rsa.PrivateKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("wechat: the private key is a %T, not RSA", key)
}

// ReadCertificate reads a platform certificate, and the serial it goes by.
func ReadCertificate(file []byte) (serial string, key *rsa.PublicKey, err error) {
	block, _ := pem.Decode(file)
	if block == nil {
		return "", nil, errors.New("wechat: not a PEM file; a platform certificate begins with BEGIN CERTIFICATE")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", nil, fmt.Errorf("wechat: platform certificate: %w", err)
	}
	key, ok := certificate.PublicKey.(*rsa.PublicKey)
	if !ok {
		return "", nil, fmt.Errorf("wechat: the platform certificate is for a %T, not RSA", certificate.PublicKey)
	}
	return fmt.Sprintf("%X", certificate.SerialNumber.Bytes()), key, nil
}

// ReadPublicKey reads WeChat's public key, pub_key.pem; its serial is the
// "PUB_KEY_ID_…" shown beside it.
func ReadPublicKey(file []byte) (*rsa.PublicKey, error) {
	block, _ := pem.Decode(file)
	if block == nil {
		return nil, errors.New("wechat: not a PEM file; WeChat's public key is pub_key.pem")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("wechat: public key: %w", err)
	}
	if key, ok := key.(*rsa.PublicKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("wechat: the public key is a %T, not RSA", key)
}
