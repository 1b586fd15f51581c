package order

import "time"

// Entry is one line of an order's history: what happened, when by the cloud's
// clock, and why. Which fields it has depends on Kind.
type Entry struct {
	At       time.Time `json:"at"`
	Kind     EntryKind `json:"kind"`
	Event    Event     `json:"event,omitempty"` // transition
	From     Status    `json:"from,omitempty"`
	To       Status    `json:"to,omitempty"`
	Version  int64     `json:"version,omitempty"` // of the order, after it
	State    string    `json:"state,omitempty"`   // of the payment, command, line or refund, after it
	SKU      string    `json:"sku,omitempty"`
	Units    int       `json:"units,omitempty"`
	Amount   int64     `json:"amount,omitempty"` // minor units
	Currency string    `json:"currency,omitempty"`
	Ref      string    `json:"ref,omitempty"` // id of the payment, command, refund or case
	Cause    string    `json:"cause,omitempty"`
}

// EntryKind says what an entry is about.
type EntryKind string

// Kinds of entries.
const (
	EntryIntent     EntryKind = "intent"     // taken in to be placed afterwards, or refused since
	EntryTransition EntryKind = "transition" // the order's state changed
	EntryPayment    EntryKind = "payment"    // a charge was opened, paid, closed
	EntryCommand    EntryKind = "command"    // the cabinet was told to dispense, or the time for it is over
	EntryLine       EntryKind = "line"       // what became of a line
	EntryRefund     EntryKind = "refund"     // money is to go back, or did, or could not
	EntryCase       EntryKind = "case"       // a person was called
)
