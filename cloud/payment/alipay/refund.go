package alipay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"vendline/cloud/payment"
	"vendline/shared/wire"
)

// Refund gives money back. Asking again with the same ID asks how far it is.
func (p *Provider) Refund(ctx context.Context, r payment.Refund) (payment.RefundState, error) {
	if r.Amount.Currency != currency || r.Amount.Minor <= 0 {
		return "", fmt.Errorf("%w: alipay: %s can not be given back, only yuan above zero", payment.ErrRefused, r.Amount)
	}
	in := struct {
		TradeNo   string `json:"out_trade_no"`
		Amount    string `json:"refund_amount"`
		RequestNo string `json:"out_request_no"`
		Reason    string `json:"refund_reason,omitempty"`
	}{r.TradeNo, r.Amount.Decimal(), requestNo(r.ID), reason(r.Reason)}
	var out struct {
		TradeNo string `json:"out_trade_no"`
		Changed string `json:"fund_change"`
	}
	err := p.call(ctx, "alipay.trade.refund", "", in, &out)
	switch code := subCode(err); code {
	case "ACQ.SELLER_BALANCE_NOT_ENOUGH": // ours: after topping up, the same ID works
		return "", fmt.Errorf("%w: top up the seller's balance, then repeat: %w", payment.ErrRefused, err)
	case tradeNotExist, "ACQ.TRADE_STATUS_ERROR", "ACQ.REFUND_AMT_NOT_EQUAL_TOTAL", "ACQ.REASON_TRADE_REFUND_FEE_ERR", "ACQ.REFUND_FEE_ERROR",
		"ACQ.TRADE_HAS_FINISHED", "ACQ.TRADE_HAS_CLOSE", "ACQ.TRADE_NOT_ALLOW_REFUND", "ACQ.DISCORDANT_REPEAT_REQUEST",
		"ACQ.REASON_TRADE_BEEN_FREEZEN", "ACQ.INVALID_PARAMETER":
		return "", fmt.Errorf("%w: %w", payment.ErrRefused, err)
	}
	if err != nil {
		return "", err
	}
	if out.TradeNo != r.TradeNo {
		return "", fmt.Errorf("alipay: refunded %s, heard of %.40q", r.TradeNo, out.TradeNo)
	}
	if out.Changed == "Y" {
		return payment.RefundDone, nil
	}
	// No money moved now: this ID was done before, or is not done yet.
	return p.refunded(ctx, r.TradeNo, in.RequestNo)
}

func (p *Provider) refunded(ctx context.Context, tradeNo, requestNo string) (payment.RefundState, error) {
	in := struct {
		TradeNo   string `json:"out_trade_no"`
		RequestNo string `json:"out_request_no"`
	}{tradeNo, requestNo}
	var out struct {
		Status string `json:"refund_status"`
	}
	if err := p.call(ctx, "alipay.trade.fastpay.refund.query", "", in, &out); err != nil {
		return "", err
	}
	if out.Status == "REFUND_SUCCESS" {
		return payment.RefundDone, nil
	}
	return payment.RefundPending, nil
}

// requestNo is a refund's ID in Alipay's form. A UUID loses its dashes; another
// that does not fit is replaced by its hash, the same each time.
func requestNo(id string) string {
	switch {
	case wire.ValidID(id):
		return strings.ReplaceAll(id, "-", "")
	case validNo(id):
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

func reason(s string) string {
	if s == "" {
		return ""
	}
	return subject(s)
}
