package api

import (
	"context"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/payment"
)

// Orders is what the API does with orders; *order.Service is one.
type Orders interface {
	// Place answers a request that was answered before with the same order and
	// replay true. Errors: *order.Refusal; order.ErrTakenIn, with the order, for an
	// id that was taken in; any other means that the outcome is
	// unknown and the same request may be sent again.
	Place(ctx context.Context, r order.Request) (o order.Order, replay bool, err error)
	// Get and Cancel return order.ErrUnknown for an id without an order.
	Get(ctx context.Context, id string) (order.Order, error)
	// Wait returns as soon as the order's state is final, or as it stands when d
	// is over. When ctx ends first it returns at once, with ctx's error.
	Wait(ctx context.Context, id string, d time.Duration) (order.Order, error)
	// Cancel returns a *order.StateError for an order that is paid.
	Cancel(ctx context.Context, id string) (order.Order, error)
	// History lists what happened to an order, oldest first, or order.ErrUnknown.
	History(ctx context.Context, id string) ([]order.Entry, error)
	// Watch returns a channel that is closed when this process changes the order;
	// its caller counts as a shopper who is there.
	Watch(ctx context.Context, id string) (changed <-chan struct{}, stop func())
}

// Intents takes orders in that are placed afterwards; *order.Service does.
type Intents interface {
	// TakeIn keeps a request; see order.Service.TakeIn. order.ErrTakenIn comes with
	// an order that was kept before.
	TakeIn(ctx context.Context, r order.Request, w order.Wishes) (o order.Order, replay bool, err error)
}

// Payments is an order's money.
type Payments interface {
	// Start asks for an order's money at a provider; the same again is the same
	// charge. Errors: payment.ErrNoProvider, order.ErrUnknown, *order.StateError,
	// *order.Refusal.
	Start(ctx context.Context, orderID, provider string) (payment.Started, error)
	// Notify keeps a provider's callback and says what to answer. Errors:
	// payment.ErrNoProvider, payment.ErrUnsigned.
	Notify(ctx context.Context, provider string, n payment.Notification) (payment.Answer, error)
	// Account is all that is known of an order's money.
	Account(ctx context.Context, orderID string) (payment.Account, error)
}

// Live is the stock filter's view of a cabinet: what can be sold at this instant.
type Live interface {
	// Sellable returns units by SKU, or order.ErrNotLoaded.
	Sellable(ctx context.Context, cabinet string) (map[string]int64, error)
}

// Truth is the ledger's view of a cabinet, for when there is no live one.
type Truth interface {
	// Available returns the units that may be sold by SKU, or a *order.Refusal with CodeCabinetUnknown.
	Available(ctx context.Context, cabinet string) (map[string]int64, error)
}

// Connection is how a cabinet is doing, as far as its messages tell.
type Connection string

// Connections. A cabinet that nobody has heard of is unknown, not offline.
const (
	Online  Connection = "online"
	Late    Connection = "late" // connected, but its beats are overdue
	Offline Connection = "offline"
	Unknown Connection = "unknown"
)

// Check is one part that has to answer before this process is ready.
type Check struct {
	Name string // "ledger", "stock", "queue"
	Ping func(ctx context.Context) error
	// Without is what requests do while the part does not answer, if they succeed
	// all the same; empty: they do not, and this process is not ready.
	Without string
}
