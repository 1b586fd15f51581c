package dispense

import (
	"context"
	"fmt"
	"time"

	"vendline/cloud/outbox"
)

// Leases of a command's row: how often a cabinet that does not ask is woken.
const (
	Lease   = 5 * time.Second
	Longest = 30 * time.Second
)

// Options of a Runner. Ledger, Publisher and Clock are required.
type Options struct {
	Ledger    Ledger
	Publisher Publisher
	Clock     func() time.Time
	// Grace is how long after a command's time a report is waited for: a motor
	// that began in the last moment has to end, and to be told of. 0 means 90 s.
	// With a minute to begin and the longest lease, what was paid and not
	// dispensed is on its way back within five minutes.
	Grace time.Duration
}

// Runner is the carrier of command rows.
type Runner struct{ opt Options }

// New returns a runner.
func New(opt Options) *Runner {
	if opt.Grace <= 0 {
		opt.Grace = 90 * time.Second
	}
	return &Runner{opt}
}

// Carry wakes the cabinets of commands that wait, once each; removes the rows of
// those that are settled; and gives up on those whose time is over. The others
// stay for their next lease.
//
// Dies anywhere: the rows are all still there but those whose command is over,
// and waking, removing and abandoning again change nothing.
func (r *Runner) Carry(ctx context.Context, rows []outbox.Row) error {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = string(row.Payload)
	}
	found, err := r.opt.Ledger.Commands(ctx, ids)
	if err != nil {
		return fmt.Errorf("dispense: %w", err)
	}
	commands := make(map[string]Command, len(found))
	for _, c := range found {
		commands[c.ID] = c
	}
	woken := map[string]bool{}
	var failed error
	for _, row := range rows {
		if err := r.carry(ctx, row, commands, woken); err != nil {
			failed = fmt.Errorf("dispense: row %s: %w", row.ID, err)
		}
	}
	return failed
}

func (r *Runner) carry(ctx context.Context, row outbox.Row, commands map[string]Command, woken map[string]bool) error {
	now := r.opt.Clock()
	c, known := commands[string(row.Payload)]
	switch {
	case !known:
		return r.bury(ctx, row)
	case c.Settled:
		return r.opt.Ledger.Delete(ctx, row.ID)
	case !now.Before(c.ExpiresAt.Add(r.opt.Grace)):
		return r.opt.Ledger.AbandonCommand(ctx, c.ID, now.Add(-r.opt.Grace))
	case c.Waiting && now.Before(c.ExpiresAt) && !woken[c.Cabinet]:
		woken[c.Cabinet] = true
		r.opt.Publisher.Wake(c.Cabinet)
	}
	return nil
}

func (r *Runner) bury(ctx context.Context, row outbox.Row) error {
	if err := r.opt.Ledger.Bury(ctx, "command", ErrUnknown.Error(), row.Payload, map[string]string{"row": row.ID}); err != nil {
		return err
	}
	return r.opt.Ledger.Delete(ctx, row.ID)
}
