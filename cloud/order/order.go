// Package order is the domain: what a scan-order is, which states it may pass
// through, and how one is placed. It declares the ports it needs and knows none
// of their adapters: no Redis, MySQL, RocketMQ or gin is imported here.
//
// The HTTP API and the MQTT intake both call Place, so that a shopper's phone
// and a cabinet's scanner get the same promise: when the caller hears yes, the
// order, its lines and its outbox rows are committed.
package order

import (
	"slices"
	"time"

	"vendline/shared/wire"
)

// Order is one basket for one cabinet. A PRE_RESERVED order is called a hold.
type Order struct {
	ID        string // UUID, minted by the caller before any I/O; the idempotency key
	Cabinet   string
	User      string
	Status    Status
	Version   int64 // raised by every transition; statements and markers carry it
	Amount    int64 // minor units, Σ price × quantity at placement
	Currency  string
	Lines     []Line // merged and sorted by SKU
	Orphan    bool   // settled by the sweep; its caller never heard yes
	CreatedAt time.Time
	ExpiresAt time.Time // when the hold was to end, as first answered
	HoldUntil time.Time // when the present hold ends; zero when there is none; in MySQL, this is the truth
	PricedAt  int64     // planogram version it was priced under; 0 is none
	Intent    *Intent   // of an order that was taken in, to be placed afterwards; nil for one placed at once
}

// Line is one SKU of an order.
type Line struct {
	SKU     string
	Qty     int
	Price   int64     // minor units each, at placement
	State   LineState // what became of it at the cabinet; empty until it is read back
	Dropped int       // units that the cabinet says came out
}

// LineState is how far a line of a paid order is. It lives on the line and not
// on the order: one line may jam while the others drop.
type LineState string

// States of a line.
const (
	LinePending    LineState = "pending"    // nobody was told to dispense it, or the cabinet has not said that it was
	LineDispensing LineState = "dispensing" // a command is open
	LineDispensed  LineState = "dispensed"
	LineFailed     LineState = "failed"   // some units did not drop; their refund is under way
	LineUnknown    LineState = "unknown"  // the cabinet cannot tell; a person may
	LineRefunded   LineState = "refunded" // the units that did not drop are paid back
)

// SameContent reports whether two orders under one id ask for the same thing:
// cabinet, shopper and basket, and whom to tell, if both are to be placed
// afterwards. Prices may differ; the first ones stand.
func (o Order) SameContent(p Order) bool {
	if o.Intent != nil && p.Intent != nil && o.Intent.Callback != p.Intent.Callback {
		return false
	}
	return o.Cabinet == p.Cabinet && o.User == p.User &&
		slices.EqualFunc(o.Lines, p.Lines, func(a, b Line) bool { return a.SKU == b.SKU && a.Qty == b.Qty })
}

// Request asks for an order. Lines may come unmerged.
type Request struct {
	ID      string
	Cabinet string
	User    string
	Lines   []wire.Line

	PricedAt int64 // planogram version whose prices the shopper saw; 0 is whatever is in force
}

// Offer is a product as one cabinet sells it: at the price of its planogram if
// it has one, else at the chain's.
type Offer struct {
	Product
	PricedAt  int64    // planogram version that the price is of; 0 is none
	Slots     []string // that hold it, by the planogram; shared, not to be changed
	Suspended bool     // all of them are out of order: it cannot be sold now
}

// Product is a catalogue entry.
type Product struct {
	SKU       string
	Name      string
	Price     int64  // minor units
	Currency  string // ISO 4217
	UserLimit int    // units one shopper may hold or buy per cabinet in 24 h; 0 is no limit
}
