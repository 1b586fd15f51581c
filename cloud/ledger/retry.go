package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/order"
)

// runGenerations reads, and locks until the end, the generations that changes
// in cs which took stock must have run under.
func (l *Ledger) runGenerations(ctx context.Context, tx *sql.Tx, cs []*order.Change, current map[string]order.Order) (map[string]string, error) {
	cabinets := map[string]struct{}{}
	for _, c := range cs {
		if o, ok := current[c.ID]; ok && (c.Event == order.RetryDeduct || c.Event == order.PreDeduct) && !l.opt.Direct {
			cabinets[o.Cabinet] = struct{}{}
		}
	}
	if len(cabinets) == 0 {
		return nil, nil
	}
	gens, err := l.generations(ctx, tx, cabinets, l.dialect.shareFree)
	if err != nil {
		return nil, fmt.Errorf("read generations: %w", err)
	}
	return gens, nil
}

// countRetry makes the second deduct of EV_RETRY_DEDUCT count: its generation
// must be current and its ticket nobody else's, in this transaction.
func countRetry(ctx context.Context, tx *sql.Tx, r order.Run, next order.Order, current string) error {
	if r.Generation != current {
		return order.ErrStale
	}
	return insertTickets(ctx, tx, appendTicket(nil, next.Cabinet, r, retryOwner(next.ID, next.Version)))
}

func retryOwner(id string, version int64) string { return fmt.Sprintf("%s@%d", id, version) }
