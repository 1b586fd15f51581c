package alipay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

// currency is the only one that domestic Alipay takes; its amounts are yuan in
// decimals.
const currency = "CNY"

// Names of refusals that mean the same for several calls.
const (
	tradeNotExist = "ACQ.TRADE_NOT_EXIST"
	tradePaid     = "ACQ.TRADE_HAS_SUCCESS"
)

// Create announces a charge; the shopper scans or opens the URL it returns.
func (p *Provider) Create(ctx context.Context, c payment.Charge) (payment.Prepay, error) {
	if c.Amount.Currency != currency || c.Amount.Minor <= 0 {
		return payment.Prepay{}, fmt.Errorf("%w: alipay: %s can not be charged, only yuan above zero", payment.ErrRefused, c.Amount)
	}
	if !validNo(c.TradeNo) {
		return payment.Prepay{}, fmt.Errorf("%w: alipay: %.70q can not be a trade number", payment.ErrRefused, c.TradeNo)
	}
	in := struct {
		TradeNo string `json:"out_trade_no"`
		Amount  string `json:"total_amount"`
		Subject string `json:"subject"`
		Expires string `json:"time_expire,omitempty"`
	}{c.TradeNo, c.Amount.Decimal(), subject(c.Description), ""}
	if !c.ExpiresAt.IsZero() {
		in.Expires = c.ExpiresAt.In(shanghai()).Format(timeLayout)
	}
	var out struct {
		TradeNo string `json:"out_trade_no"`
		Code    string `json:"qr_code"`
	}
	err := p.call(ctx, "alipay.trade.precreate", c.NotifyURL, in, &out)
	switch code := subCode(err); code {
	case "":
	case tradePaid:
		return payment.Prepay{}, payment.ErrPaid
	case "ACQ.SYSTEM_ERROR", "AQC.SYSTEM_ERROR":
	default:
		return payment.Prepay{}, fmt.Errorf("%w: %w", payment.ErrRefused, err)
	}
	if err != nil {
		return payment.Prepay{}, err
	}
	if out.TradeNo != c.TradeNo || out.Code == "" {
		return payment.Prepay{}, errors.New("alipay: the answer has no code for this charge")
	}
	return payment.Prepay{URL: out.Code}, nil
}

type trade struct {
	TradeNo string `json:"out_trade_no"`
}

// Query asks where a charge stands.
func (p *Provider) Query(ctx context.Context, tradeNo string) (payment.Charged, error) {
	var out struct {
		TradeNo string `json:"out_trade_no"`
		Ref     string `json:"trade_no"`
		Status  string `json:"trade_status"`
		Amount  string `json:"total_amount"`
		PaidAt  string `json:"send_pay_date"`
	}
	err := p.call(ctx, "alipay.trade.query", "", trade{tradeNo}, &out)
	if subCode(err) == tradeNotExist {
		return payment.Charged{State: payment.NotFound}, nil
	}
	if err != nil {
		return payment.Charged{}, err
	}
	if out.TradeNo != tradeNo {
		return payment.Charged{}, fmt.Errorf("alipay: asked for %s, heard of %.40q", tradeNo, out.TradeNo)
	}
	switch {
	case out.Status == "WAIT_BUYER_PAY":
		return payment.Charged{State: payment.Unpaid, Merchant: p.cfg.Seller}, nil
	case out.Status == "TRADE_CLOSED" && out.PaidAt == "":
		return payment.Charged{State: payment.Closed, Merchant: p.cfg.Seller}, nil
	// A charge that was paid and has all been given back is closed, too.
	case out.Status == "TRADE_CLOSED", out.Status == "TRADE_SUCCESS", out.Status == "TRADE_FINISHED":
		return paid(p.cfg.Seller, out.Ref, out.Amount, out.PaidAt)
	}
	return payment.Charged{}, fmt.Errorf("alipay: trade_status %.40q is not known here", out.Status)
}

// paid reads what is said of a paid charge.
func paid(seller, ref, decimal, at string) (payment.Charged, error) {
	amount, err := money.ParseDecimal(decimal, currency)
	if err != nil {
		return payment.Charged{}, fmt.Errorf("alipay: total_amount: %w", err)
	}
	when, err := time.ParseInLocation(timeLayout, at, shanghai())
	if err != nil || ref == "" || amount.IsZero() {
		return payment.Charged{}, fmt.Errorf("alipay: a paid charge of %s with the number %.70q, paid at %.40q", amount, ref, at)
	}
	return payment.Charged{State: payment.Paid, Amount: amount, Merchant: seller, Ref: ref, PaidAt: when.UTC()}, nil
}

// Close makes sure that a charge can not be paid any more. One that no shopper
// has opened is not known to Alipay, though its code can still be opened: that
// is cancelled. Should the shopper pay between the two calls, cancelling gives
// the money back, at Alipay, at once.
func (p *Provider) Close(ctx context.Context, tradeNo string) error {
	err := p.call(ctx, "alipay.trade.close", "", trade{tradeNo}, new(trade))
	if err == nil {
		return nil
	}
	switch subCode(err) {
	case "":
		return err
	case tradeNotExist:
		return p.cancel(ctx, tradeNo)
	}
	// Other refusals do not say whether it is paid or closed.
	got, queryErr := p.Query(ctx, tradeNo)
	switch {
	case queryErr == nil && got.State == payment.Paid:
		return payment.ErrPaid
	case queryErr == nil && got.State == payment.Closed:
		return nil
	}
	return err
}

func (p *Provider) cancel(ctx context.Context, tradeNo string) error {
	var out struct {
		Retry string `json:"retry_flag"`
	}
	err := p.call(ctx, "alipay.trade.cancel", "", trade{tradeNo}, &out)
	if subCode(err) == tradeNotExist {
		return nil
	}
	if err == nil && out.Retry == "Y" {
		return errors.New("alipay: the cancellation is not done yet; call again")
	}
	return err
}

// validNo is Alipay's rule for numbers that merchants mint.
func validNo(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_'
	})
}

// subject is a description as Alipay takes it: at most 256 characters, and none
// of those that part names from values in what it signs.
func subject(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("&=/", r) || r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if runes := []rune(s); len(runes) > 256 {
		s = string(runes[:256])
	}
	if strings.TrimSpace(s) == "" {
		return "Vendline"
	}
	return s
}
