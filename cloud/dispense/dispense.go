// Package dispense gets paid orders out of their cabinets, or their money back.
//
// A command is written in the transaction that makes its order CONSUMED, with an
// outbox row. The row's runner is here: it wakes the cabinet, which then asks,
// and is answered by intake with everything that waits for it and how long each
// may still begin. The row stays, whatever was said to whom, until the
// cabinet's report has come or the command's time is over; so a lost wake, ask
// or answer costs time only, and a lost cabinet ends in a refund.
package dispense

import (
	"context"
	"errors"
	"time"
)

// ErrUnknown is returned for a command that does not exist.
var ErrUnknown = errors.New("dispense: no such command")

// Command is where a command stands.
type Command struct {
	ID        string
	Cabinet   string
	ExpiresAt time.Time // by the cloud's clock: after it no cabinet begins
	Waiting   bool      // its cabinet has said nothing yet: wake it
	Settled   bool      // there is nothing left to wait for
}

// Ledger keeps commands.
type Ledger interface {
	// Commands tells where commands stand; those that do not exist are left out.
	Commands(ctx context.Context, ids []string) ([]Command, error)
	// AbandonCommand refunds what a command has no last word on, and ends it with
	// its outbox row, if its time was over at before; else it changes nothing.
	AbandonCommand(ctx context.Context, id string, before time.Time) error
	Delete(ctx context.Context, ids ...string) error
	// Bury keeps a row that names no command.
	Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
}

// Publisher speaks to cabinets. What it says may get lost.
type Publisher interface {
	Wake(cabinet string)
}
