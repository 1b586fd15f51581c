package wechat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

// currency is the only one that domestic WeChat Pay takes; its amounts are in
// fen, its minor unit.
const currency = "CNY"

// maxDescription is in bytes, as WeChat counts.
const maxDescription = 127

type amount struct {
	Total    int64  `json:"total"`
	Currency string `json:"currency"`
}

// Create announces a charge; the shopper scans or opens the URL it returns.
func (p *Provider) Create(ctx context.Context, c payment.Charge) (payment.Prepay, error) {
	if c.Amount.Currency != currency || c.Amount.Minor <= 0 {
		return payment.Prepay{}, fmt.Errorf("%w: wechat: %s can not be charged, only yuan above zero", payment.ErrRefused, c.Amount)
	}
	if !validNo(c.TradeNo, 32) {
		return payment.Prepay{}, fmt.Errorf("%w: wechat: %.70q can not be a trade number", payment.ErrRefused, c.TradeNo)
	}
	in := struct {
		AppID       string `json:"appid"`
		Merchant    string `json:"mchid"`
		Description string `json:"description"`
		TradeNo     string `json:"out_trade_no"`
		Expires     string `json:"time_expire,omitempty"`
		NotifyURL   string `json:"notify_url"`
		Amount      amount `json:"amount"`
	}{p.cfg.AppID, p.cfg.Merchant, shorten(c.Description, maxDescription), c.TradeNo, "", c.NotifyURL, amount{c.Amount.Minor, c.Amount.Currency}}
	if !c.ExpiresAt.IsZero() {
		in.Expires = c.ExpiresAt.UTC().Format(time.RFC3339)
	}
	var out struct {
		CodeURL string `json:"code_url"`
	}
	err := p.call(ctx, http.MethodPost, "/v3/pay/transactions/native", in, &out)
	if f := (*failure)(nil); errors.As(err, &f) {
		switch f.Code {
		case "ORDERPAID", "ORDER_PAID":
			return payment.Prepay{}, payment.ErrPaid
		case "ORDER_CLOSED", "ORDERCLOSED", "OUT_TRADE_NO_USED", "PARAM_ERROR", "INVALID_REQUEST", "NO_AUTH", "NOAUTH",
			"APPID_MCHID_NOT_MATCH", "MCH_NOT_EXISTS", "RULE_LIMIT":
			return payment.Prepay{}, fmt.Errorf("%w: create: %w", payment.ErrRefused, f)
		}
	}
	if err != nil {
		return payment.Prepay{}, fmt.Errorf("create: %w", err)
	}
	if out.CodeURL == "" {
		return payment.Prepay{}, errors.New("wechat: create: the answer has no code_url")
	}
	return payment.Prepay{URL: out.CodeURL}, nil
}

// transaction is a charge as answers and callbacks describe it.
type transaction struct {
	AppID     string `json:"appid"`
	Merchant  string `json:"mchid"`
	TradeNo   string `json:"out_trade_no"`
	Ref       string `json:"transaction_id"`
	State     string `json:"trade_state"`
	SuccessAt string `json:"success_time"`
	Amount    amount `json:"amount"`
}

// charged reads a transaction. REFUND means that money was given back of a
// charge that had been paid: it stays Paid.
func (t transaction) charged() (payment.Charged, error) {
	got := payment.Charged{Merchant: t.Merchant}
	switch t.State {
	case "NOTPAY", "USERPAYING", "PAYERROR":
		got.State = payment.Unpaid
	case "CLOSED", "REVOKED":
		got.State = payment.Closed
	case "SUCCESS", "REFUND":
		got.State, got.Ref = payment.Paid, t.Ref
		at, err := time.Parse(time.RFC3339, t.SuccessAt)
		if err != nil {
			return got, fmt.Errorf("wechat: success_time %.40q of a paid charge", t.SuccessAt)
		}
		got.PaidAt = at.UTC()
		if got.Amount, err = money.Of(t.Amount.Total, t.Amount.Currency); err != nil || t.Amount.Total <= 0 || t.Ref == "" {
			return got, fmt.Errorf("wechat: a paid charge without amount or number: %+v", t)
		}
	default:
		return got, fmt.Errorf("wechat: trade_state %.40q is not known here", t.State)
	}
	return got, nil
}

// ours checks that a transaction belongs to our app and merchant.
func (p *Provider) ours(t transaction) error {
	if t.AppID != p.cfg.AppID || t.Merchant != p.cfg.Merchant {
		return fmt.Errorf("wechat: it is for app %.40q and merchant %.40q, and we are %q and %q", t.AppID, t.Merchant, p.cfg.AppID, p.cfg.Merchant)
	}
	return nil
}

// Query asks where a charge stands.
func (p *Provider) Query(ctx context.Context, tradeNo string) (payment.Charged, error) {
	var t transaction
	err := p.call(ctx, http.MethodGet, inTrade(tradeNo)+"?mchid="+url.QueryEscape(p.cfg.Merchant), nil, &t)
	if unknown(err) {
		return payment.Charged{State: payment.NotFound}, nil
	}
	if err != nil {
		return payment.Charged{}, fmt.Errorf("query: %w", err)
	}
	if err := p.ours(t); err != nil {
		return payment.Charged{}, fmt.Errorf("query: %w", err)
	}
	if t.TradeNo != tradeNo {
		return payment.Charged{}, fmt.Errorf("wechat: asked for %s, heard of %.40q", tradeNo, t.TradeNo)
	}
	return t.charged()
}

// Close makes sure that a charge can not be paid any more.
func (p *Provider) Close(ctx context.Context, tradeNo string) error {
	in := struct {
		Merchant string `json:"mchid"`
	}{p.cfg.Merchant}
	err := p.call(ctx, http.MethodPost, inTrade(tradeNo)+"/close", in, nil)
	f := (*failure)(nil)
	if err == nil || unknown(err) {
		return nil
	}
	if !errors.As(err, &f) {
		return fmt.Errorf("close: %w", err)
	}
	switch f.Code {
	case "ORDERPAID", "ORDER_PAID":
		return payment.ErrPaid
	case "ORDER_CLOSED", "ORDERCLOSED":
		return nil
	}
	// Other refusals, as TRADE_ERROR, do not say where the charge stands.
	got, queryErr := p.Query(ctx, tradeNo)
	switch {
	case queryErr == nil && got.State == payment.Paid:
		return payment.ErrPaid
	case queryErr == nil && got.State == payment.Closed:
		return nil
	}
	return fmt.Errorf("close: %w", err)
}

func unknown(err error) bool {
	f := (*failure)(nil)
	if !errors.As(err, &f) {
		return false
	}
	switch f.Code {
	case "ORDER_NOT_EXIST", "ORDERNOTEXIST", "RESOURCE_NOT_EXISTS":
		return true
	}
	return false
}

// validNo is WeChat's rule for numbers that merchants mint.
func validNo(s string, most int) bool {
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("_-|*@", r)
	})
}

// shorten cuts a text for people to what WeChat takes, between two characters.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
