package order

import (
	"context"
	"time"

	"vendline/shared/wire"
)

// Run names the incarnation of a cabinet's Redis stock that an effect ran
// under, and the ticket it drew there. An effect on Redis counts only once a
// transaction that finds the generation still current, and the ticket drawn by
// nobody else, has committed.
type Run struct {
	Generation string // "<cabinet token>.<fleet token>"
	Ticket     int64  // 0 when the effect took no stock and drew none
}

// Basket is what the stock filter is asked to take under (ID, Version).
type Basket struct {
	ID      string
	Version int64
	Cabinet string
	User    string
	Items   []Item // merged, sorted by SKU, never empty
}

// Item is one SKU of a basket.
type Item struct {
	SKU   string
	Qty   int
	Limit int // the shopper's 24 h limit in units; 0 is none
}

// Taken is the stock filter's yes.
type Taken struct {
	Run
	Seen     bool // this (id, version) or a newer one was here before; Run is the first one's
	Released bool // … and its hold has been given back since
}

// Stock admits baskets: all SKUs of one or none, in one atomic step. Refusals
// are *Refusal errors and leave nothing behind, and so does ErrNotLoaded, which
// asks for a rebuild of the cabinet. Any other error means that the outcome is
// unknown: ask again under the same id and version.
type Stock interface {
	Deduct(ctx context.Context, b Basket) (Taken, error)
}

// Placement is an order about to be made durable, with the run that took its stock.
type Placement struct {
	Order Order // Status PreReserved, Version 1
	Run   Run
}

// Ledger makes orders durable. Every method that changes an order writes its
// outbox rows in the same transaction.
type Ledger interface {
	// Place commits the order, its lines, its ticket and its outbox rows, in one
	// transaction shared with other callers. Errors: ErrExists (the id has an
	// order), among them ErrSpare (… that was placed under another run),
	// ErrStale (the generation is no longer current), ErrDoubled (the ticket
	// was drawn twice: Redis went back in time).
	Place(ctx context.Context, p *Placement) error
	// Find returns an order, or ErrUnknown.
	Find(ctx context.Context, id string) (Order, error)
	// History returns what happened to an order, oldest first, or ErrUnknown.
	History(ctx context.Context, id string) ([]Entry, error)
	// Holds returns a shopper's unpaid holds at a cabinet, newest first; none
	// where a next order does not replace them.
	Holds(ctx context.Context, user, cabinet string) ([]Order, error)
	// Transition carries out a change as a compare-and-set on (state, version),
	// in a transaction shared with other callers, and fills in c.After. Errors:
	// ErrUnknown, *StateError, and for PreDeduct and RetryDeduct ErrStale and
	// ErrDoubled.
	Transition(ctx context.Context, c *Change) error
}

// SyncLedger places an order and moves its stock in one guarded transaction,
// without Redis or a queue: the synchronous mode. Errors: ErrExists, *Refusal.
type SyncLedger interface {
	PlaceSync(ctx context.Context, o Order, limits []Item) error
	// AdmitSync places a pending order. Errors: *StateError, *Refusal.
	AdmitSync(ctx context.Context, o Order, limits []Item) error
}

// Change asks for one transition.
type Change struct {
	ID      string
	Event   Event
	Cause   string // why, for people: "timeout", "cancelled by shopper"
	Version int64  // when not 0, the version the order must have
	Run     Run    // PreDeduct, RetryDeduct: the run that took the basket
	// NotBefore, when set, refuses the change with a *StateError while the hold
	// lives: it is the clock that the order's end is compared with.
	NotBefore time.Time
	// Capture, of a PaySuccess, is the money that arrived. With it the change is
	// never refused for the order's state: money that comes for an order that
	// cannot take it is booked all the same, and goes its way (see Captured).
	Capture  *Capture
	After    Order    // set on success: the order as it stands now
	Captured Captured // set on success, with Capture
}

// Capture is money that a provider says has arrived. Its signature, amount,
// currency, merchant and order have been checked.
type Capture struct {
	Payment string    // the payment's id
	Ref     string    // the provider's number
	PaidAt  time.Time // by the provider's clock, for people
}

// Captured says what became of money that arrived.
type Captured string

// What becomes of money.
const (
	CapturedPays  Captured = "paid"      // the hold is CONSUMED now
	CapturedAgain Captured = "again"     // this payment was booked before; nothing changed
	CapturedLate  Captured = "late"      // the order was rolled back: an outbox row decides between vending and refund
	CapturedTwice Captured = "duplicate" // the order is paid by another payment: an outbox row refunds this one
)

// Fence rebuilds a cabinet's Redis stock from the ledger.
type Fence interface {
	// Rebuild makes Redis agree with the ledger under a new generation, unless
	// it already carries the current one. Error: a *Refusal with
	// CodeCabinetUnknown when there is no such cabinet.
	Rebuild(ctx context.Context, cabinet string) error
	// Draw makes generation stale, if it is still the cabinet's current one:
	// whatever ran under it no longer counts, and the next touch rebuilds.
	Draw(ctx context.Context, cabinet, generation string) error
}

// Catalogue knows what cabinets sell, and for how much.
type Catalogue interface {
	// Product returns ok false for a SKU that the cabinet does not sell.
	Product(ctx context.Context, cabinet, sku string) (o Offer, ok bool, err error)
	// PriceAt returns what a SKU cost at a cabinet under a version of its
	// planogram; ok is false when it was not sold under it, or there is no such
	// version. What Product says after it is not older than that version.
	PriceAt(ctx context.Context, cabinet string, version int64, sku string) (p wire.Price, ok bool, err error)
}

// Refusal is a final or retryable no, with its stable code.
type Refusal struct {
	Code   wire.Code
	Detail string          // for people
	Short  []wire.Shortage // CodeStockShort: the SKUs

	Prices   []wire.Price // CodePriceChanged: what the basket's SKUs cost now …
	PricedAt int64        // … and under which planogram version

	RetryAfter time.Duration // when it is retryable: after how long; 0 means soon
}

func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Detail }
