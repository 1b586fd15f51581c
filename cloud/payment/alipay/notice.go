package alipay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

const tolerance = 5 * time.Minute

// Verify checks a callback and reads it. Alipay repeats one under the same
// notify_id, with a fresh time and signature each time.
func (p *Provider) Verify(n payment.Notification) (payment.Notice, error) {
	params, err := p.signed(n)
	if err != nil {
		return payment.Notice{}, err
	}
	if app, seller := params.Get("app_id"), params.Get("seller_id"); app != p.cfg.AppID || seller != p.cfg.Seller {
		return payment.Notice{}, unsigned("it is for app %.40q and seller %.40q, and we are %q and %q", app, seller, p.cfg.AppID, p.cfg.Seller)
	}
	notice := payment.Notice{ID: noticeID(params.Get("notify_id")), Retry: true, TradeNo: params.Get("out_trade_no")}
	if notice.ID == "" || notice.TradeNo == "" {
		return payment.Notice{}, fmt.Errorf("alipay: a callback with the notify_id %.70q for the charge %.70q", notice.ID, notice.TradeNo)
	}
	if notice.Charged, err = p.charged(params); err != nil {
		return payment.Notice{}, err
	}
	return notice, nil
}

// signed checks form, signature and age, and returns the parameters, each of
// which is there once.
func (p *Provider) signed(n payment.Notification) (url.Values, error) {
	if len(n.Body) > maxBody {
		return nil, unsigned("the body has %d bytes, at most %d", len(n.Body), maxBody)
	}
	params, err := url.ParseQuery(string(n.Body))
	if err != nil {
		return nil, unsigned("the body is not a form: %v", err)
	}
	for name, values := range params {
		if len(values) != 1 {
			return nil, unsigned("%.40q is there %d times", name, len(values))
		}
	}
	if got := params.Get("sign_type"); got != signType {
		return nil, unsigned("sign_type %.20q; choose %s on the open platform", got, signType)
	}
	if err := verify(p.cfg.Alipay, content(params, "sign", "sign_type"), params.Get("sign")); err != nil {
		return nil, unsigned("%v", err)
	}
	sent, err := time.ParseInLocation(timeLayout, params.Get("notify_time"), shanghai())
	if err != nil {
		return nil, unsigned("notify_time %.40q is not a time", params.Get("notify_time"))
	}
	if age := n.At.Sub(sent); age > tolerance || age < -tolerance {
		return nil, unsigned("it is %v old, at most %v either way; check the clock", age.Round(time.Second), tolerance)
	}
	return params, nil
}

// charged reads what a callback says of the charge. Callbacks of refunds come
// with the same statuses; they say nothing new of it, and have no state.
func (p *Provider) charged(params url.Values) (payment.Charged, error) {
	seller := p.cfg.Seller
	refund, err := refunded(params)
	if err != nil {
		return payment.Charged{}, err
	}
	switch status := params.Get("trade_status"); {
	case refund, status == "TRADE_CLOSED" && params.Get("gmt_payment") != "": // closed because all of it went back
		return payment.Charged{Merchant: seller}, nil
	case status == "TRADE_SUCCESS", status == "TRADE_FINISHED":
		return paid(seller, params.Get("trade_no"), params.Get("total_amount"), params.Get("gmt_payment"))
	case status == "TRADE_CLOSED":
		return payment.Charged{State: payment.Closed, Merchant: seller}, nil
	case status == "WAIT_BUYER_PAY":
		return payment.Charged{State: payment.Unpaid, Merchant: seller}, nil
	default:
		return payment.Charged{}, fmt.Errorf("alipay: trade_status %.40q is not known here", status)
	}
}

// refunded reports whether a callback is about money given back. Some callbacks
// of a payment carry a refund_fee of 0.00.
func refunded(params url.Values) (bool, error) {
	if params.Get("gmt_refund") != "" {
		return true, nil
	}
	fee := params.Get("refund_fee")
	if fee == "" {
		return false, nil
	}
	amount, err := money.ParseDecimal(fee, currency)
	if err != nil {
		return false, fmt.Errorf("alipay: refund_fee: %w", err)
	}
	return !amount.IsZero(), nil
}

// noticeID is a notify_id, or its hash when it is longer than our table takes.
func noticeID(id string) string {
	if len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// Answer is the word that Alipay waits for, and nothing else.
func (p *Provider) Answer(kept bool) payment.Answer {
	word := "fail"
	if kept {
		word = "success"
	}
	return payment.Answer{Status: http.StatusOK, ContentType: "text/plain", Body: []byte(word)}
}
