package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"vendline/cloud/effect"
	"vendline/cloud/order"
)

// FinishEffects makes a row's effects on Redis count and deletes the row, in one
// transaction that holds the cabinets' generations still.
//
// Dies before the commit: the row stays, the effects run again and change
// nothing, because the scripts know their ids and versions. A rebuild that wins
// the race loads what the orders and facts say, and "done" for this row's facts.
func (l *Ledger) FinishEffects(ctx context.Context, row string, runs []effect.Ran) error {
	var stale *effect.StaleError
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		stale = &effect.StaleError{}
		cabinets := map[string]struct{}{}
		for _, r := range runs {
			cabinets[r.Cabinet] = struct{}{}
		}
		current, err := l.generations(ctx, tx, cabinets, l.dialect.shareFree)
		if err != nil {
			return fmt.Errorf("read generations: %w", err)
		}
		for _, r := range runs {
			if current[r.Cabinet] != r.Run.Generation {
				stale.Cabinets = append(stale.Cabinets, r.Cabinet)
				continue
			}
			err := insertTickets(ctx, tx, appendTicket(nil, r.Cabinet, r.Run, r.ID))
			if errors.Is(err, order.ErrDoubled) {
				stale.Cabinets = append(stale.Cabinets, r.Cabinet)
				stale.Doubled = append(stale.Doubled, r)
				continue
			}
			if err != nil {
				return err
			}
		}
		if len(stale.Cabinets) > 0 {
			return stale
		}
		return deleteMsgs(ctx, tx, row)
	})
	if err != nil && !errors.Is(err, stale) {
		return fmt.Errorf("ledger: finish effects: %w", err)
	}
	return err
}
