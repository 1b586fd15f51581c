package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// addCommand tells the cabinet of a paid order to dispense it, in the
// transaction that made it paid.
func (l *Ledger) addCommand(ctx context.Context, tx *sql.Tx, b *rowSet, o order.Order) error {
	id := l.opt.ID()
	_, err := tx.ExecContext(ctx, `INSERT INTO trade_command (command_id, order_sn, cabinet_id, status, expires_at, created_at, changed_at)
		VALUES (?,?,?,'open',?,?,?)`, id, o.ID, o.Cabinet, b.now+l.opt.Vend.Milliseconds(), b.now, b.now)
	if err != nil {
		return fmt.Errorf("write command: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE trade_order_line SET state = 'dispensing' WHERE order_sn = ?", o.ID); err != nil {
		return fmt.Errorf("write line states: %w", err)
	}
	b.add(outbox.KindCommand, o.Cabinet, id, QuickLease)
	return l.note(ctx, tx, o.ID, b.now, order.Entry{Kind: order.EntryCommand, State: "open", Ref: id})
}
