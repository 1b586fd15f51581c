package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// States of a command.
const (
	commandOpen      = "open"      // its cabinet has said nothing of it: it may be offered
	commandReported  = "reported"  // its cabinet has spoken, and some line has no final word yet
	commandDone      = "done"      // every line has its last word
	commandWithdrawn = "withdrawn" // taken back before any cabinet heard of it
	commandAbandoned = "abandoned" // its time is over, and its cabinet never spoke of every line
)

// addCommand tells the cabinet of a paid order to dispense it, in the
// transaction that made it paid. The outbox row has the command's own id, so
// that whoever ends the command can remove it.
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
	b.others = append(b.others, outbox.Row{ID: id, Kind: outbox.KindCommand, Shard: l.Shard(o.Cabinet), Payload: []byte(id),
		CreatedAt: ms(b.now), DueAt: ms(b.now).Add(QuickLease)})
	return l.note(ctx, tx, o.ID, b.now, order.Entry{Kind: order.EntryCommand, State: commandOpen, Ref: id})
}

type commandRow struct {
	id, order, cabinet, status string
	expiresAt, offeredAt       int64
}

// oneCommand reads a command, or errNoCommand.
func oneCommand(ctx context.Context, tx *sql.Tx, id, lock string) (c commandRow, err error) {
	err = tx.QueryRowContext(ctx, "SELECT command_id, order_sn, cabinet_id, status, expires_at, offered_at FROM trade_command WHERE command_id = ?"+lock, id).
		Scan(&c.id, &c.order, &c.cabinet, &c.status, &c.expiresAt, &c.offeredAt)
	if errors.Is(err, sql.ErrNoRows) {
		return c, errNoCommand
	}
	if err != nil {
		return c, fmt.Errorf("read command: %w", err)
	}
	return c, nil
}
