package payment

import (
	"context"
	"errors"
	"time"

	"vendline/cloud/order"
)

// Errors of a Ledger.
var (
	ErrUnknown = errors.New("payment: no such payment, callback or refund")
	ErrMoved   = errors.New("payment: the order moved on; look again")
)

// Ledger keeps payments, callbacks and refunds beside their orders. Whatever it
// changes is one transaction under the order's row lock, with the order's
// history, the movement of money, and the outbox row that goes on from there.
type Ledger interface {
	Payments
	Notices
	Returns
	Orders
}

// Orders is what payments need of orders.
type Orders interface {
	Find(ctx context.Context, id string) (order.Order, error)
	// Transition books the money of a Change with a Capture; see order.Captured.
	Transition(ctx context.Context, c *order.Change) error
	// Live reports whether somebody has waited for the order within d.
	Live(ctx context.Context, id string, d time.Duration) (bool, error)
}

// Payments keeps charges.
type Payments interface {
	// OpenPayment writes down that an order is to be paid at a provider, or
	// returns the payment that there is. Errors: order.ErrUnknown; a
	// *order.StateError unless the order is a hold.
	OpenPayment(ctx context.Context, orderID, provider string) (Payment, order.Order, error)
	Payment(ctx context.Context, id string) (Payment, error)
	PaymentOf(ctx context.Context, provider, tradeNo string) (Payment, error)
	// Account is all that is known of an order's money.
	Account(ctx context.Context, orderID string) (Account, error)
	// OpenPayments returns the payments of orders that may still be paid.
	OpenPayments(ctx context.Context, orders ...string) ([]Payment, error)
	// ClosePayment writes down that the provider takes no money for it any more.
	// A payment that is not open is left alone.
	ClosePayment(ctx context.Context, id string) error
	// DisputePayment calls a person. With final set the provider itself says so,
	// and nobody asks it again.
	DisputePayment(ctx context.Context, id, detail string, final bool) error
	// Delete removes outbox rows that are carried out.
	Delete(ctx context.Context, rows ...string) error
}

// Notices keeps callbacks.
type Notices interface {
	// KeepNotice keeps a callback, and the outbox row that settles it, unless it
	// is there already: then seen is true.
	KeepNotice(ctx context.Context, provider string, n Notice) (seen bool, err error)
	// Notice returns a callback that is kept, with its outcome if it is settled.
	Notice(ctx context.Context, provider, id string) (Kept, error)
	// FinishNotice notes what came of a callback, and removes its outbox row.
	FinishNotice(ctx context.Context, provider, id, outcome, row string) error
	// AbandonNotice calls a person for money that belongs to nothing we know.
	AbandonNotice(ctx context.Context, k Kept, detail, row string) error
}

// Kept is a callback that is durable.
type Kept struct {
	Notice
	Provider   string
	ReceivedAt time.Time
	Outcome    string // empty until it is settled
}

// Returns gives money back.
type Returns interface {
	// ReturnSurplus decides that a surplus payment goes back as a whole, and
	// removes the late row that asked. A payment that is not surplus, or on its
	// way back already, is left alone. ErrMoved: its order is a hold again, and
	// may yet take the money.
	ReturnSurplus(ctx context.Context, payment, reason, row string) error
	Return(ctx context.Context, id string) (Return, error)
	// FinishReturn books that the money is back.
	FinishReturn(ctx context.Context, id, row string) error
	// FailReturn counts an attempt. After MaxAttempts of them, or with final set,
	// a case is open, the row gone and stuck true.
	FailReturn(ctx context.Context, id, row, reason string, final bool) (stuck bool, err error)
}

// MaxAttempts is how often a refund is asked for before a person is called.
const MaxAttempts = 16

// Retrier takes a rolled-back order's basket from stock once more. A *order.Refusal
// that is not retryable says that it cannot be had.
type Retrier interface {
	Retry(ctx context.Context, o order.Order) (order.Order, error)
}

// NoticeRow is the payload of a KindNotice row.
type NoticeRow struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}
