package planogram

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

// Leases of a version's row: how often a cabinet that does not answer is told.
const (
	Lease   = 5 * time.Second
	Longest = 5 * time.Minute
)

// Publisher speaks to cabinets. What it says may get lost.
type Publisher interface {
	Planogram(cabinet string, p wire.Planogram)
}

// Rows is what the runner needs of the ledger.
type Rows interface {
	// Planograms returns how the planograms of cabinets stand; a cabinet without
	// one is missing.
	Planograms(ctx context.Context, cabinets ...string) (map[string]State, error)
	Delete(ctx context.Context, ids ...string) error
	// Bury keeps a row that names no planogram.
	Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
}

// Runner is the carrier of planogram rows.
type Runner struct {
	Ledger    Rows
	Publisher Publisher
}

// Carry tells cabinets their newest version. The row stays until the cabinet has
// acknowledged, which removes it, and is carried again when its lease is over; a
// row whose version is not the newest any more is of no use and goes.
//
// Dies anywhere: the rows are still there, and a cabinet that is told a version
// twice stores it once.
func (r *Runner) Carry(ctx context.Context, rows []outbox.Row) error {
	named := make([]outbox.Planogram, len(rows))
	var cabinets []string
	for i, row := range rows {
		if err := json.Unmarshal(row.Payload, &named[i]); err != nil || named[i].Version < 1 {
			named[i] = outbox.Planogram{}
			continue
		}
		cabinets = append(cabinets, named[i].Cabinet)
	}
	known, err := r.Ledger.Planograms(ctx, cabinets...)
	if err != nil {
		return fmt.Errorf("planogram: %w", err)
	}
	var done []string
	for i, row := range rows {
		now, ok := known[named[i].Cabinet]
		switch {
		case named[i].Version == 0 || !ok:
			if err := r.Ledger.Bury(ctx, "planogram", "names no planogram", row.Payload, map[string]string{"row": row.ID}); err != nil {
				return fmt.Errorf("planogram: %w", err)
			}
			done = append(done, row.ID)
		case named[i].Version < now.Version || now.Acked >= now.Version:
			done = append(done, row.ID)
		default:
			r.Publisher.Planogram(named[i].Cabinet, now.Planogram)
		}
	}
	if err := r.Ledger.Delete(ctx, done...); err != nil {
		return fmt.Errorf("planogram: %w", err)
	}
	return nil
}
