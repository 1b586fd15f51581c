// Package planogram tells cabinets what they hold in which slot, and at which
// price. Each cabinet has versions 1, 2, 3 …; the newest is in force for new
// orders from the moment of its commit, and for the cabinet from the moment it
// says so. A version never changes.
package planogram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vendline/shared/wire"
)

// ErrConflict is returned to whoever changes a version that is not the newest.
var ErrConflict = errors.New("planogram: somebody else was faster")

// Bounds of a planogram, which has to fit into one message.
const (
	MaxSlots    = 256
	MaxCapacity = 999
	MaxPrice    = 100_000_000 // minor units
)

// State is how a cabinet's planogram stands. Version 0 is none.
type State struct {
	Cabinet string
	wire.Planogram
	Since   time.Time // when it was set
	Acked   int64     // newest version that the cabinet works by, as it says; 0 is none
	AckedAt time.Time // when it said so
}

// Unacked is a cabinet that does not work by its newest planogram yet.
type Unacked struct {
	Cabinet string
	Version int64
	Since   time.Time
	Acked   int64 // the version it works by, as it says; 0 is none
}

// Ledger keeps planograms.
type Ledger interface {
	// SetPlanogram commits the next version of a cabinet with the outbox row that
	// tells it, and opens stock of no units for each SKU that is new there. When
	// base is not nil and not the newest version it is ErrConflict. Slots that are
	// the newest version's already are that version, and made is false: the same
	// request again is the same answer. Errors: *order.Refusal.
	SetPlanogram(ctx context.Context, cabinet string, slots []wire.Slot, base *int64) (version int64, made bool, err error)
}

// Service sets planograms.
type Service struct {
	Ledger Ledger
	// Rebuild loads a cabinet's stock; nil where there is nothing to load. A SKU
	// that is new at a cabinet is then known there before somebody asks for it.
	Rebuild func(ctx context.Context, cabinet string) error
}

// Set makes slots the newest version of a cabinet; see Ledger. Slots that cannot
// be are a *wire.FieldError.
//
// Promise: a nil error means that version and outbox row are committed, all or
// none. Dies anywhere: the same request again finds what the first one did.
func (s *Service) Set(ctx context.Context, cabinet string, slots []wire.Slot, base *int64) (version int64, made bool, err error) {
	if !wire.ValidCabinet(cabinet) {
		return 0, false, &wire.FieldError{Path: "cabinet", Problem: "must be 1 to 32 letters, digits, '_' or '-'"}
	}
	if err := check(slots); err != nil {
		return 0, false, err
	}
	slots = slices.SortedFunc(slices.Values(slots), bySlot)
	version, made, err = s.Ledger.SetPlanogram(ctx, cabinet, slots, base)
	if err == nil && made && s.Rebuild != nil {
		_ = s.Rebuild(ctx, cabinet) // what fails here is done at the first touch
	}
	return version, made, err
}

func check(slots []wire.Slot) error {
	if len(slots) < 1 || len(slots) > MaxSlots {
		return &wire.FieldError{Path: "slots", Problem: fmt.Sprintf("must be 1 to %d slots", MaxSlots)}
	}
	seen := map[string]bool{}
	prices := map[string]wire.Slot{}
	for i, s := range slots {
		no := func(field, problem string, args ...any) error {
			return &wire.FieldError{Path: fmt.Sprintf("slots[%d].%s", i, field), Problem: fmt.Sprintf(problem, args...)}
		}
		first, again := prices[s.SKU]
		switch {
		case !wire.ValidSlot(s.Slot):
			return no("slot", "must be 1 to %d letters, digits, '.', '_' or '-'", wire.MaxSlot)
		case seen[s.Slot]:
			return no("slot", "appears twice")
		case !wire.ValidSKU(s.SKU):
			return no("sku", "must be 1 to 64 letters, digits, '.', '_' or '-'")
		case s.Capacity < 1 || s.Capacity > MaxCapacity:
			return no("capacity", "must be an integer from 1 to %d", MaxCapacity)
		case s.Price < 1 || s.Price > MaxPrice:
			return no("price", "must be an integer from 1 to %d, in minor units", MaxPrice)
		case !currency(s.Currency):
			return no("currency", "must be an ISO 4217 code, as in CNY")
		case again && (first.Price != s.Price || first.Currency != s.Currency):
			return no("price", "is another one than in slot %s: a product has one price at a cabinet", first.Slot)
		}
		seen[s.Slot], prices[s.SKU] = true, s
	}
	return nil
}

func currency(s string) bool {
	return len(s) == 3 && !slices.ContainsFunc([]byte(s), func(c byte) bool { return c < 'A' || c > 'Z' })
}

func bySlot(a, b wire.Slot) int { return slices.Compare([]byte(a.Slot), []byte(b.Slot)) }
