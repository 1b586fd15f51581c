package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// ResumeSlot ends the suspension of a slot, and its case, by an operator's word;
// there is false when the slot was not suspended. A cabinet that finds it out of
// order again says so.
func (l *Ledger) ResumeSlot(ctx context.Context, cabinet, slot string) (there bool, err error) {
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM trade_slot_fault WHERE cabinet_id = ? AND slot = ?", cabinet, slot).Scan(&n); err != nil {
			return err
		}
		there = n > 0
		return l.reopenSlot(ctx, tx, cabinet, slot, l.now())
	})
	if err != nil {
		return false, fmt.Errorf("ledger: resume slot %s of %s: %w", slot, cabinet, err)
	}
	return there, nil
}
