// Package statement is what a stock message says. It states, it does not
// command: "order X stands at PRE_RESERVED, version 3, with these lines". Step 8
// moves stock from what it knew of X to what is stated, so that duplicates,
// reordering, regrouping, and a payment that overtakes its deduct all converge.
package statement

import (
	"encoding/json"
	"fmt"
	"slices"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// State is where an order stands, or what kind of fact happened.
type State string

// States of orders are the order's own; facts have one state each and never move.
const (
	PreReserved State = State(order.PreReserved)
	Consumed    State = State(order.Consumed)
	RolledBack  State = State(order.RolledBack)
	Sale        State = "SALE"    // the cabinet sold on its own
	Restock     State = "RESTOCK" // units were put in
	Drift       State = "DRIFT"   // units that turned out to exist: books a difference nobody can lose
	Loss        State = "LOSS"    // units that turned out to be gone
	Return      State = "RETURN"  // units that were sold and never dropped: they are still in their slot
)

// Fact reports whether s is a kind of fact: it happened, whatever the stock says.
func (s State) Fact() bool {
	return s == Sale || s == Restock || s == Drift || s == Loss || s == Return
}

// Effect is what one unit of a line in some state does to a stock row, in units.
type Effect struct{ Total, Available, Locked, Sold int64 }

// EffectOf is the table of effects; the zero State (not known yet) has none.
func EffectOf(s State) (e Effect, ok bool) {
	switch s {
	case "", RolledBack:
		return Effect{}, true
	case PreReserved:
		return Effect{Available: -1, Locked: 1}, true
	case Consumed, Sale:
		return Effect{Available: -1, Sold: 1}, true
	case Restock, Drift:
		return Effect{Available: 1, Total: 1}, true
	case Loss:
		return Effect{Available: -1, Total: -1}, true
	case Return:
		return Effect{Available: 1, Sold: -1}, true
	}
	return Effect{}, false
}

// Statement says where one order, or fact, stands for all its SKUs.
type Statement struct {
	ID      string      `json:"id"` // order or fact
	Cabinet string      `json:"c"`
	State   State       `json:"s"`
	Version int64       `json:"v"`
	Lines   []wire.Line `json:"l"`
}

// Check reports what makes a statement impossible to apply, whoever retries it.
func (s Statement) Check() error {
	if s.ID == "" || !wire.ValidCabinet(s.Cabinet) || s.Version < 1 || len(s.Lines) == 0 {
		return fmt.Errorf("statement: id, cabinet, version or lines are missing")
	}
	if _, ok := EffectOf(s.State); !ok || s.State == "" {
		return fmt.Errorf("statement: unknown state %q", s.State)
	}
	for i, l := range s.Lines {
		if !wire.ValidSKU(l.SKU) || l.Qty < 1 {
			return fmt.Errorf("statement: line %q × %d is not possible", l.SKU, l.Qty)
		}
		if slices.ContainsFunc(s.Lines[:i], func(before wire.Line) bool { return before.SKU == l.SKU }) {
			return fmt.Errorf("statement: %s stands in two lines, the deduct log has one row for it", l.SKU)
		}
	}
	return nil
}

// Settled says that the deduct log knows an order at a version, in all its lines.
type Settled struct {
	Cabinet string
	ID      string
	Version int64
}

// Message carries the statements of a whole commit group for one shard, and
// names the outbox row they stay in until they are applied.
type Message struct {
	V          int         `json:"v"` // 1
	Row        string      `json:"row"`
	Attempt    int         `json:"a,omitempty"` // failed attempts so far
	FirstError string      `json:"e,omitempty"`
	Statements []Statement `json:"st"`
}

// Encode returns the message's bytes.
func (m Message) Encode() []byte {
	m.V = 1
	if m.Statements == nil {
		m.Statements = []Statement{}
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("statement: encode: %v", err)) // unreachable: plain strings and numbers
	}
	return b
}

// maxBytes is more than any queue carries in one message.
const maxBytes = 4 << 20

// Decode reads a message. An error means that no retry will make it readable.
func Decode(b []byte) (Message, error) {
	var m Message
	if err := wire.Decode(b, maxBytes, &m); err != nil {
		return m, fmt.Errorf("statement: not a stock message: %w", err)
	}
	if m.V != 1 {
		return m, fmt.Errorf("statement: version %d is not spoken here", m.V)
	}
	return m, nil
}
