package wechat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"vendline/cloud/payment"
)

// maxReason is in bytes, as WeChat counts.
const maxReason = 80

// Refund gives money back. WeChat takes most of them as pending; asking again
// with the same ID tells how far it is.
func (p *Provider) Refund(ctx context.Context, r payment.Refund) (payment.RefundState, error) {
	if r.Amount.Currency != currency || r.Total.Currency != currency || r.Amount.Minor <= 0 {
		return "", fmt.Errorf("%w: wechat: %s of %s can not be given back, only yuan above zero", payment.ErrRefused, r.Amount, r.Total)
	}
	type refundAmount struct {
		Refund   int64  `json:"refund"`
		Total    int64  `json:"total"`
		Currency string `json:"currency"`
	}
	in := struct {
		TradeNo  string       `json:"out_trade_no"`
		RefundNo string       `json:"out_refund_no"`
		Reason   string       `json:"reason,omitempty"`
		Amount   refundAmount `json:"amount"`
	}{r.TradeNo, refundNo(r.ID), shorten(r.Reason, maxReason), refundAmount{r.Amount.Minor, r.Total.Minor, currency}}
	var out struct {
		RefundNo string `json:"out_refund_no"`
		TradeNo  string `json:"out_trade_no"`
		Status   string `json:"status"`
		Amount   struct {
			Refund int64 `json:"refund"`
		} `json:"amount"`
	}
	err := p.call(ctx, http.MethodPost, "/v3/refund/domestic/refunds", in, &out)
	if f := (*failure)(nil); errors.As(err, &f) {
		switch f.Code {
		case "NOT_ENOUGH": // of our own balance: after topping up, the same ID works
			return "", fmt.Errorf("%w: refund: top up the merchant's balance, then repeat: %w", payment.ErrRefused, f)
		case "USER_ACCOUNT_ABNORMAL", "PARAM_ERROR", "MCH_NOT_EXISTS", "RESOURCE_NOT_EXISTS", "INVALID_REQUEST", "NO_AUTH":
			return "", fmt.Errorf("%w: refund: %w", payment.ErrRefused, f)
		}
	}
	if err != nil {
		return "", fmt.Errorf("refund: %w", err)
	}
	if out.RefundNo != in.RefundNo || out.TradeNo != r.TradeNo || out.Amount.Refund != r.Amount.Minor {
		return "", fmt.Errorf("%w: wechat: refund %s of %s was already made as %d of %.40q", payment.ErrRefused, in.RefundNo, r.Amount, out.Amount.Refund, out.TradeNo)
	}
	switch out.Status {
	case "SUCCESS":
		return payment.RefundDone, nil
	case "PROCESSING":
		return payment.RefundPending, nil
	case "ABNORMAL": // the shopper's card or account is gone
		return "", fmt.Errorf("%w: wechat: refund %s is ABNORMAL; name another account for it in the merchant platform", payment.ErrRefused, in.RefundNo)
	case "CLOSED":
		return "", fmt.Errorf("%w: wechat: refund %s is CLOSED", payment.ErrRefused, in.RefundNo)
	}
	return "", fmt.Errorf("wechat: refund %s has the status %.40q, which is not known here", in.RefundNo, out.Status)
}

// refundNo is a refund's ID in WeChat's form: up to 64 of a few characters. One
// that does not fit is replaced by its hash, the same each time.
func refundNo(id string) string {
	if validNo(id, 64) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}
