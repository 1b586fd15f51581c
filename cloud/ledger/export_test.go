package ledger

import (
	"context"
	"database/sql"

	"vendline/cloud/order"
)

// PlaceFallbackAfter is PlaceFallback with something else that happens in its
// transaction before the cabinet's row is locked.
func (l *Ledger) PlaceFallbackAfter(ctx context.Context, o order.Order, before func(tx *sql.Tx) error) error {
	return l.inTx(ctx, l.dialect.snapshot, func(tx *sql.Tx) error {
		if err := before(tx); err != nil {
			return err
		}
		_, _, err := l.fallbackTx(ctx, tx, o.Cabinet, l.placeSlow(ctx, o, nil))
		return err
	})
}
