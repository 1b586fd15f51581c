// Package effect carries decided changes to Redis: a hold given back, a fact's
// units. Each is an outbox row until a transaction that finds its generation
// still current has deleted it; otherwise it runs again under the same id and
// version, which the scripts make harmless.
package effect

import (
	"encoding/json"
	"fmt"
	"strings"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// Effect is one change that Redis has to hear of. Exactly one of Release and
// Adjust is set.
type Effect struct {
	Release *Release `json:"release,omitempty"`
	Adjust  *Adjust  `json:"adjust,omitempty"`
}

// Release states that an order's hold stands released at a version.
type Release struct {
	ID      string      `json:"id"`
	Cabinet string      `json:"cabinet"`
	User    string      `json:"user"`
	Version int64       `json:"version"`
	Lines   []wire.Line `json:"lines"`
}

// Adjust adds a fact's units to sellable stock, once per fact id.
type Adjust struct {
	ID      string  `json:"id"`
	Cabinet string  `json:"cabinet"`
	Deltas  []Delta `json:"deltas"`
}

// Delta is a signed change of one SKU's sellable units.
type Delta struct {
	SKU   string `json:"sku"`
	Units int64  `json:"units"`
}

// Result is what became of one effect on Redis. Err is order.ErrNotLoaded while
// the cabinet is fenced; a *order.Refusal when the id means something else to
// the generation of Run; any other says that the outcome is unknown.
type Result struct {
	Run order.Run // the generation it ran under; a ticket if it is an adjust
	Err error
}

// Ran is the run under which Redis carried out one effect of a row.
type Ran struct {
	Cabinet string
	ID      string // the order or fact
	Run     order.Run
}

// StaleError says that some of a row's effects do not count: their cabinets
// must be rebuilt, and the row carried out again under the same ids.
type StaleError struct {
	Cabinets []string
	Doubled  []Ran // … because their ticket was drawn twice: draw the fence first
}

func (e *StaleError) Error() string {
	return "effect: ran under a stale generation at " + strings.Join(e.Cabinets, ", ")
}

// Cabinet names whose stock the effect changes.
func (e Effect) Cabinet() string {
	if e.Release != nil {
		return e.Release.Cabinet
	}
	return e.Adjust.Cabinet
}

// ID is the order or fact behind the effect.
func (e Effect) ID() string {
	if e.Release != nil {
		return e.Release.ID
	}
	return e.Adjust.ID
}

// Encode returns the bytes of an outbox row with these effects.
func Encode(effects []Effect) []byte {
	b, err := json.Marshal(effects)
	if err != nil {
		panic(fmt.Sprintf("effect: encode: %v", err)) // unreachable: plain strings and numbers
	}
	return b
}

// Decode reads an outbox row.
func Decode(b []byte) ([]Effect, error) {
	var es []Effect
	if err := json.Unmarshal(b, &es); err != nil {
		return nil, fmt.Errorf("effect: not an effect row: %w", err)
	}
	for _, e := range es {
		if (e.Release == nil) == (e.Adjust == nil) {
			return nil, fmt.Errorf("effect: neither release nor adjust, or both")
		}
	}
	return es, nil
}
