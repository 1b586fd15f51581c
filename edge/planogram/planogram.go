// Package planogram keeps what a cabinet holds in which slot, and at which
// price, as the cloud last said.
package planogram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// StepStore is the durable step of a new version, for tests.
const StepStore outbox.Step = "planogram"

// Box is the outbox as the store needs it. *outbox.Outbox is one.
type Box interface {
	Write(ctx context.Context, step outbox.Step, work func(*outbox.Tx) error) error
	Read(fn func(outbox.Books) error) error
}

// Store keeps the version in force. Safe for concurrent use.
type Store struct {
	box     Box
	cabinet string
	now     func() time.Time
}

// New returns the store of a cabinet; now is the wall clock, written into events.
func New(box Box, cabinet string, now func() time.Time) *Store { return &Store{box, cabinet, now} }

func current() []byte { return []byte("current") }

// Take stores a version higher than the one in force, and reports whether it
// did. The same or an older one changes nothing.
//
// Promised: "in force here" and the event that tells the cloud so are one
// commit. Dying right before it leaves the old version, of which the cloud was
// told, and the cloud sends the new one again; dying right after leaves the
// event in the outbox. Its id is the version's, so a cabinet whose file was lost
// tells nothing new when it is sent the version again.
func (s *Store) Take(ctx context.Context, p *wire.Planogram) (taken bool, err error) {
	if err := check(p); err != nil {
		return false, err
	}
	body, err := json.Marshal(p)
	if err != nil {
		return false, fmt.Errorf("planogram: encode: %w", err)
	}
	if has, err := s.version(); err != nil || p.Version <= has {
		return false, err
	}
	err = s.box.Write(ctx, StepStore, func(tx *outbox.Tx) error {
		taken = false
		has, err := read(tx.Books)
		if err != nil || p.Version <= has.Version {
			return err
		}
		e := outbox.Entry{ID: ident.OfPlanogram(s.cabinet, p.Version), At: s.now().UnixMilli(),
			Fact: &wire.Fact{Kind: wire.FactPlanogram, Planogram: p.Version}}
		if _, err := tx.Append(e, outbox.ShareFact); err != nil {
			return err
		}
		taken = true
		return tx.Put(outbox.BookPlanogram, current(), body)
	})
	return taken && err == nil, err
}

// Current is the version in force; ok is false if there is none.
func (s *Store) Current() (p wire.Planogram, ok bool, err error) {
	err = s.box.Read(func(b outbox.Books) (err error) { p, err = read(b); return err })
	return p, p.Version > 0, err
}

func (s *Store) version() (int64, error) {
	p, _, err := s.Current()
	return p.Version, err
}

// read takes a damaged version for none: the cloud's next word replaces it.
func read(b outbox.Books) (p wire.Planogram, err error) {
	v, err := b.Get(outbox.BookPlanogram, current())
	if errors.Is(err, outbox.ErrUnreadable) || v == nil && err == nil {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(v, &p); err != nil {
		return wire.Planogram{}, nil
	}
	return p, nil
}

func check(p *wire.Planogram) error {
	if p == nil || p.Version < 1 {
		return &wire.FieldError{Path: "planogram.version", Problem: "must be 1 or more"}
	}
	seen := make(map[string]bool, len(p.Slots))
	for i, s := range p.Slots {
		at := fmt.Sprintf("planogram.slots[%d]", i)
		switch {
		case !wire.ValidSlot(s.Slot):
			return &wire.FieldError{Path: at + ".slot", Problem: "must be 1 to 32 letters, digits, '.', '_' or '-'"}
		case seen[s.Slot]:
			return &wire.FieldError{Path: at + ".slot", Problem: "appears twice"}
		case !wire.ValidSKU(s.SKU):
			return &wire.FieldError{Path: at + ".sku", Problem: "must be 1 to 64 letters, digits, '.', '_' or '-'"}
		case s.Price < 0 || s.Capacity < 0:
			return &wire.FieldError{Path: at, Problem: "has a negative price or capacity"}
		}
		seen[s.Slot] = true
	}
	return nil
}
