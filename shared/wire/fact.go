package wire

// FactKind says what physically happened.
type FactKind string

// Kinds of facts. A fact is never refused for lack of stock: it happened.
const (
	FactRestock   FactKind = "restock"    // units were put in
	FactSale      FactKind = "sale"       // units were sold by the cabinet on its own
	FactStocktake FactKind = "stocktake"  // units were counted
	FactDispense  FactKind = "dispense"   // what became of a dispense command
	FactSlotFault FactKind = "slot_fault" // a slot jammed, or works again
	FactDoor      FactKind = "door"       // the door was opened or closed
	FactPlanogram FactKind = "planogram"  // the cabinet now works by this planogram version
)

// Fact is the body of a physical event. Which fields it has depends on Kind.
type Fact struct {
	Kind FactKind `json:"kind"`
	// Lines are the units of a restock or a sale.
	Lines []Line `json:"lines,omitempty"`
	// Counts are what was found: by a stocktake, or by a restock before units
	// were put in. A SKU that is not named was not counted.
	Counts []Count `json:"counts,omitempty"`
	// Upto is the seq of the last event that had happened when Counts were
	// taken; 0 means: all events before this one.
	Upto      int64     `json:"upto,omitempty"`
	Dispense  *Dispense `json:"dispense,omitempty"`
	Slot      string    `json:"slot,omitempty"`      // slot_fault: which
	Fault     string    `json:"fault,omitempty"`     // slot_fault: what is wrong; empty means that it works again
	Door      string    `json:"door,omitempty"`      // door: "open" or "closed"
	Planogram int64     `json:"planogram,omitempty"` // planogram: the version
}

// Count is how many units of a SKU were found; 0 is a finding too.
type Count struct {
	SKU   string `json:"sku"`
	Units int    `json:"units"`
}

// Dispense is what became of one dispense command.
type Dispense struct {
	Command string         `json:"command"` // its id
	Order   string         `json:"order"`
	Lines   []DispenseLine `json:"lines"`
}

// DispenseLine is what became of one line of a command.
type DispenseLine struct {
	SKU    string        `json:"sku"`
	State  DispenseState `json:"state"`
	Units  int           `json:"units"`            // that dropped; all of the line's when dispensed
	Detail string        `json:"detail,omitempty"` // for people: "motor stalled"
}

// DispenseState is how a line ended at the cabinet.
type DispenseState string

// States of a dispensed line, as the cabinet saw it.
const (
	Dispensed DispenseState = "dispensed" // all units dropped
	Failed    DispenseState = "failed"    // Units dropped, the rest did not; the slot is suspect
	Expired   DispenseState = "expired"   // never started: the command came too late
	Uncertain DispenseState = "unknown"   // the power went after the motor started
)
