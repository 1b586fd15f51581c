package wechat

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"vendline/cloud/payment"
)

// notification is the signed envelope of a callback.
type notification struct {
	ID       string `json:"id"`
	Event    string `json:"event_type"`
	Resource struct {
		Algorithm      string `json:"algorithm"`
		Ciphertext     string `json:"ciphertext"`
		AssociatedData string `json:"associated_data"`
		Nonce          string `json:"nonce"`
	} `json:"resource"`
}

const (
	eventPaid   = "TRANSACTION.SUCCESS"
	eventRefund = "REFUND." // SUCCESS, ABNORMAL, CLOSED
)

// Verify checks a callback and reads it. WeChat repeats one under the same ID,
// with a fresh time and signature each time.
func (p *Provider) Verify(n payment.Notification) (payment.Notice, error) {
	if err := p.verify(n.Header, n.Body, n.At); err != nil {
		return payment.Notice{}, err
	}
	var envelope notification
	if err := json.Unmarshal(n.Body, &envelope); err != nil {
		return payment.Notice{}, fmt.Errorf("wechat: the callback is unreadable: %w", err)
	}
	if !validNo(envelope.ID, 64) {
		return payment.Notice{}, fmt.Errorf("wechat: a callback with the id %.80q", envelope.ID)
	}
	plain, err := p.open(envelope)
	if err != nil {
		return payment.Notice{}, err
	}
	var t transaction
	if err := json.Unmarshal(plain, &t); err != nil {
		return payment.Notice{}, fmt.Errorf("wechat: what the callback says is unreadable: %w", err)
	}
	notice := payment.Notice{ID: envelope.ID, Retry: true, TradeNo: t.TradeNo}
	switch {
	case envelope.Event == eventPaid:
		if err := p.ours(t); err != nil {
			return payment.Notice{}, unsigned("%v", err)
		}
		if notice.Charged, err = t.charged(); err != nil {
			return payment.Notice{}, err
		}
	case strings.HasPrefix(envelope.Event, eventRefund):
		// It names the merchant alone, and says nothing new of the charge: how
		// far a refund is, Refund tells whoever asks.
		if t.Merchant != p.cfg.Merchant {
			return payment.Notice{}, unsigned("a refund of merchant %.40q, and we are %q", t.Merchant, p.cfg.Merchant)
		}
		notice.Merchant = t.Merchant
	default:
		return payment.Notice{}, fmt.Errorf("wechat: event_type %.40q is not known here", envelope.Event)
	}
	if notice.TradeNo == "" {
		return payment.Notice{}, fmt.Errorf("wechat: callback %s names no out_trade_no", envelope.ID)
	}
	return notice, nil
}

// open decrypts what a callback says.
func (p *Provider) open(n notification) ([]byte, error) {
	if n.Resource.Algorithm != "AEAD_AES_256_GCM" {
		return nil, fmt.Errorf("wechat: callback %s is encrypted with %.40q, not AEAD_AES_256_GCM", n.ID, n.Resource.Algorithm)
	}
	sealed, err := base64.StdEncoding.DecodeString(n.Resource.Ciphertext)
	if err != nil || len(n.Resource.Nonce) != p.aead.NonceSize() {
		return nil, fmt.Errorf("wechat: what callback %s says is not a ciphertext with its nonce", n.ID)
	}
	plain, err := p.aead.Open(nil, []byte(n.Resource.Nonce), sealed, []byte(n.Resource.AssociatedData))
	if err != nil {
		return nil, fmt.Errorf("wechat: callback %s can not be decrypted; is the API v3 key the one of the merchant platform?", n.ID)
	}
	return plain, nil
}

// Answer is 204 for kept; else 500 with WeChat's form of a reason.
func (p *Provider) Answer(kept bool) payment.Answer {
	if kept {
		return payment.Answer{Status: http.StatusNoContent}
	}
	return payment.Answer{Status: http.StatusInternalServerError, ContentType: "application/json", Body: []byte(`{"code":"FAIL","message":"not kept, come again"}`)}
}
