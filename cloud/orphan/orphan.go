// Package orphan gives back holds whose placement died between Redis and
// MySQL. Redis remembers every deducted id until MySQL's deduct log knows it
// (`resv`); what stays there past the grace of any living placement is settled
// in MySQL first, so that a late insert fails, and only then in Redis.
package orphan

import (
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// Hold is an id in resv with its marker.
type Hold struct {
	ID      string
	Cabinet string
	Held    bool // marker state; false is released
	Version int64
	Run     order.Run // the generation Redis carries, and the ticket the marker drew
	User    string
	Lines   []wire.Line
	At      int64 // when it was deducted, Unix ms by the service's clock
}

// Outcome is what became of a hold that was looked at.
type Outcome int

// Outcomes.
const (
	Standing Outcome = iota // its order stands; the deduct log is still to hear of it
	Known                   // the deduct log has it; Redis only missed to hear so
	Settled                 // no placement finished it; it is given back
)
