package wire

import "slices"

// CommandKind says what a command asks for.
type CommandKind string

// Kinds of commands.
const (
	CommandStock     CommandKind = "stock"     // what the cloud believes can be sold, and may be sold offline
	CommandWake      CommandKind = "wake"      // there is something to dispense: ask
	CommandDispense  CommandKind = "dispense"  // the answer to an Ask
	CommandPlanogram CommandKind = "planogram" // slots and prices; acknowledged by a planogram fact
)

// Command is sent down to one cabinet.
type Command struct {
	V         int         `json:"v"`
	Cabinet   string      `json:"cabinet"`
	Kind      CommandKind `json:"kind"`
	Stock     []StockLine `json:"stock,omitempty"`
	Counted   *Counted    `json:"counted,omitempty"`  // stock: the cabinet's own sales that Stock counts
	Ask       string      `json:"ask,omitempty"`      // dispense: the Ask that this answers
	Dispense  []Vend      `json:"dispense,omitempty"` // dispense: everything that is waiting for this cabinet
	Planogram *Planogram  `json:"planogram,omitempty"`
}

// Ask is a cabinet's question for what it is to dispense. The answer's
// intervals count from the moment the question was sent, by the cabinet's own
// monotonic clock: an answer that a slow network delivers late is then already
// over, and no clock needs to be right.
type Ask struct {
	V       int    `json:"v"`
	Cabinet string `json:"cabinet"`
	ID      string `json:"id"` // UUID, new for every question
}

// Vend is one order to dispense, once.
type Vend struct {
	ID        string `json:"id"` // of the command; the same for ever
	Order     string `json:"order"`
	Lines     []Line `json:"lines"`
	ExpiresIn int64  `json:"expires_in"` // ms from the Ask; after that it must never start
}

// StockLine is one SKU's sellable units and price.
type StockLine struct {
	SKU       string `json:"sku"`
	Name      string `json:"name"`
	Sellable  int64  `json:"sellable"`
	Price     int64  `json:"price"` // minor units
	Currency  string `json:"currency"`
	Allowance int64  `json:"allowance,omitempty"` // units the cabinet may sell on its own while offline
}

// Counted names the sales of a cabinet's own that a stock command counts. It
// is of the same instant as the command's units, so that it does not matter in
// which order commands and acks arrive.
type Counted struct {
	Epoch string  `json:"epoch"` // of the outbox that the cloud heard of last; empty if of none
	From  int64   `json:"from"`  // below it, every sale that was acked is counted
	Sales []int64 `json:"sales"` // seqs of sales from there on that are counted, rising
}

// Has reports whether a sale is counted; acked is what its cabinet knows.
func (c Counted) Has(epoch string, seq int64, acked bool) bool {
	if epoch != c.Epoch {
		return false
	}
	if seq < c.From {
		return acked
	}
	_, listed := slices.BinarySearch(c.Sales, seq)
	return listed
}

// Before reports whether c was read before later was: it lacks a sale that later
// counts.
func (c Counted) Before(later Counted) bool {
	return c.Epoch == later.Epoch && slices.ContainsFunc(later.Sales, func(seq int64) bool { return !c.Has(c.Epoch, seq, true) })
}

// Planogram says which slot holds what, and at which price, as of a version.
type Planogram struct {
	Version int64  `json:"version"`
	Slots   []Slot `json:"slots"`
}

// Slot is one place of a cabinet.
type Slot struct {
	Slot     string `json:"slot"`
	SKU      string `json:"sku"`
	Capacity int    `json:"capacity"`
	Price    int64  `json:"price"` // minor units
	Currency string `json:"currency"`
}
