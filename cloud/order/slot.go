package order

import (
	"context"
	"time"
)

// SlotFault is a slot that is out of order: its SKU is not sold at its cabinet
// until the slot works again.
type SlotFault struct {
	Cabinet string
	Slot    string
	SKU     string
	Fault   string // for people
	Since   time.Time
}

// Slots tells which slots are out of order, all of them at once.
type Slots interface {
	SlotFaults(ctx context.Context) ([]SlotFault, error)
}
