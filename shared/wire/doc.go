// Package wire holds what crosses a boundary between a cabinet and the cloud:
// message types, topics, codes and the one strict decoder. It is versioned,
// append-only, and imports the standard library alone, so that both sides (and
// firmware authors reading along) depend on nothing else.
//
// History
//
//	1  first version: order, fact, beat, state up; verdict, ack, command down
//	1  adds, for cabinets and clouds that know them: facts stocktake, dispense,
//	   slot_fault, door and planogram; restock counts; ask up; commands wake,
//	   dispense and planogram; priced_at of an order, prices of a verdict
package wire

// Version is the only envelope version this build speaks. A reader refuses any
// other, so that a newer cabinet is parked and told, never half-understood.
const Version = 1

// MaxMessage is the largest message, in bytes, that either side sends or reads.
const MaxMessage = 64 << 10
