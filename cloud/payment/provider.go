// Package payment is how a shopper's money meets an order. Providers differ in
// how they sign and what they call things; this package knows them by one small
// port. Its rule: money that arrived is never silent. It pays for an order, or
// it goes back, or a person is called.
package payment

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"vendline/shared/money"
	"vendline/shared/wire"
)

// Provider is one way of paying. Every call but Verify goes over a network:
// errors that are not listed say that the outcome is unknown, and the same call
// may be made again.
type Provider interface {
	// Name is what it is called in addresses and tables: "sandbox".
	Name() string
	// Create announces a charge, so that the shopper can pay it. Creating the
	// same trade number twice with the same content is creating it once. ErrPaid
	// says that it has been paid since; ErrRefused that it is closed, has another
	// content, or can not be charged at this provider.
	Create(ctx context.Context, c Charge) (Prepay, error)
	// Query asks where a charge stands. A charge it never heard of is NotFound,
	// without an error; some providers hear of a charge only when the shopper
	// opens it. A charge stays Paid when its money has been given back.
	Query(ctx context.Context, tradeNo string) (Charged, error)
	// Close makes sure that a charge can not be paid any more: nil when it is
	// closed or was never created, ErrPaid when the shopper was faster.
	Close(ctx context.Context, tradeNo string) error
	// Refund gives money back, once per r.ID however often it is called.
	// ErrRefused says that no repetition will help: a person has to look.
	Refund(ctx context.Context, r Refund) (RefundState, error)
	// Verify checks a callback's signature, its age (five minutes either way of
	// n.At), its form and whose it is, with no I/O, and reads it. An error wraps
	// ErrUnsigned unless the signature was good and only the content is
	// unreadable. That a callback was kept before, Verify can not know: see
	// Notice.Retry.
	Verify(n Notification) (Notice, error)
	// Answer is what the provider wants to hear: that the callback is kept and
	// need not come again, or that it should.
	Answer(kept bool) Answer
}

// Errors of a Provider.
var (
	ErrPaid     = errors.New("payment: the charge has been paid")
	ErrRefused  = errors.New("payment: the provider refuses for good")
	ErrUnsigned = errors.New("payment: the callback is not the provider's, too old, or seen before")
)

// Charge asks a shopper for the money of one order.
type Charge struct {
	TradeNo     string // ours, unique for ever; see TradeNo
	Amount      money.Money
	Description string    // for the shopper: "Vendline C001"
	ExpiresAt   time.Time // by the cloud's clock
	NotifyURL   string    // where the callback goes
}

// Prepay is what the shopper's device needs to pay.
type Prepay struct {
	URL    string            `json:"url,omitempty"`    // a page, or a code to show
	Params map[string]string `json:"params,omitempty"` // for the provider's own app
}

// ChargeState is where a charge stands at the provider.
type ChargeState string

// States of a charge.
const (
	NotFound ChargeState = "not_found"
	Unpaid   ChargeState = "unpaid"
	Paid     ChargeState = "paid"
	Closed   ChargeState = "closed"
)

// Charged is the provider's view of a charge.
type Charged struct {
	State    ChargeState
	Amount   money.Money // of what was paid
	Merchant string      // whose charge it is
	Ref      string      // the provider's own number of the payment
	PaidAt   time.Time   // zero while unpaid
}

// Refund asks for money back.
type Refund struct {
	ID      string // ours, unique for ever; the provider's idempotency key
	TradeNo string
	Amount  money.Money
	Total   money.Money // of the charge
	Reason  string
}

// RefundState is how far a refund is.
type RefundState string

// States of a refund at the provider.
const (
	RefundDone    RefundState = "done"
	RefundPending RefundState = "pending" // accepted; ask again with the same ID
)

// Notification is a callback as it came in.
type Notification struct {
	Header http.Header
	Body   []byte // raw: signatures are over bytes
	At     time.Time
}

// Notice is a callback that is the provider's.
//
// State is empty when it is about something else than the charge, a refund for
// example: it is acknowledged, and nothing follows from it.
type Notice struct {
	ID string // one callback: its nonce or notification id, at most 64 bytes of ASCII
	// Retry says that the provider repeats a callback under the same ID: one kept
	// before is acknowledged again. False: it is refused as a replay.
	Retry   bool
	TradeNo string
	Charged
}

// Answer is an HTTP answer in the provider's own terms.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
}

// TradeNo is the number of an order's charge at every provider: its id without
// dashes, 32 characters, which is the most that all of them take.
func TradeNo(orderID string) string { return strings.ReplaceAll(orderID, "-", "") }

// OrderOf turns a trade number back into the order's id; ok is false for
// numbers that are not ours.
func OrderOf(tradeNo string) (id string, ok bool) {
	if len(tradeNo) != 32 {
		return "", false
	}
	id = tradeNo[:8] + "-" + tradeNo[8:12] + "-" + tradeNo[12:16] + "-" + tradeNo[16:20] + "-" + tradeNo[20:]
	return id, wire.ValidID(id)
}
