package sandbox

import (
	"fmt"
	"time"

	"vendline/cloud/payment"
	"vendline/shared/money"
	"vendline/shared/wire"
)

// Operations of a request.
const (
	opCreate = "create"
	opQuery  = "query"
	opClose  = "close"
	opRefund = "refund"
)

// request is what the provider asks its server. One type for all operations:
// the signature is over the body, so the body says all of it.
type request struct {
	Op          string `json:"op"`
	Merchant    string `json:"merchant"`
	TradeNo     string `json:"trade_no"`
	Amount      int64  `json:"amount"` // of the charge, or of the refund
	Currency    string `json:"currency"`
	Description string `json:"description"`
	ExpiresAt   int64  `json:"expires_at"` // seconds, 0 for never
	NotifyURL   string `json:"notify_url"`
	RefundID    string `json:"refund_id"`
	Reason      string `json:"reason"`
}

// Codes of an answer.
const (
	codeDone    = "done"
	codePaid    = "paid"
	codeRefused = "refused"
)

// reply is the server's answer, signed under the request's nonce.
type reply struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	URL      string `json:"url"`
	State    string `json:"state"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Merchant string `json:"merchant"`
	Ref      string `json:"ref"`
	PaidAt   int64  `json:"paid_at"` // seconds, 0 while unpaid
}

const eventPaid = "charge.paid"

// event is the body of a callback.
type event struct {
	Event    string `json:"event"`
	Merchant string `json:"merchant"`
	TradeNo  string `json:"trade_no"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Ref      string `json:"ref"`
	PaidAt   int64  `json:"paid_at"`
}

func (e event) charged() (payment.Charged, error) {
	if e.Event != eventPaid {
		return payment.Charged{}, fmt.Errorf("sandbox: a callback about %.40q, not %s", e.Event, eventPaid)
	}
	amount, err := money.Of(e.Amount, e.Currency)
	if err != nil || amount.Minor <= 0 || !validToken(e.TradeNo) || e.Ref == "" || e.PaidAt <= 0 {
		return payment.Charged{}, fmt.Errorf("sandbox: a callback with a field missing or malformed: %+v", e)
	}
	return payment.Charged{State: payment.Paid, Amount: amount, Merchant: e.Merchant, Ref: e.Ref, PaidAt: at(e.PaidAt)}, nil
}

func read(body []byte, v any) error { return wire.Decode(body, maxBody, v) }

func at(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
