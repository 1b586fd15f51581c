package wire

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
