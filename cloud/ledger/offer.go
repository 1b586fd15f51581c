package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/dispense"
	"vendline/shared/wire"
)

// Commands tells where commands stand; those that do not exist are left out.
func (l *Ledger) Commands(ctx context.Context, ids []string) ([]dispense.Command, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT command_id, cabinet_id, status, expires_at FROM trade_command WHERE command_id IN ("+marks(len(ids))+")", anys(ids)...)
	if err != nil {
		return nil, fmt.Errorf("ledger: read commands: %w", err)
	}
	defer rows.Close()
	var out []dispense.Command
	for rows.Next() {
		var c dispense.Command
		var status string
		var expires int64
		if err := rows.Scan(&c.ID, &c.Cabinet, &status, &expires); err != nil {
			return nil, fmt.Errorf("ledger: read commands: %w", err)
		}
		c.ExpiresAt = ms(expires)
		c.Waiting = status == commandOpen
		c.Settled = status != commandOpen && status != commandReported
		out = append(out, c)
	}
	return out, rows.Err()
}

// maxOffered keeps an answer far below wire.MaxMessage: a line is at most about
// 100 bytes. The rest is offered when these are done.
const maxOffered = 300

// OpenCommands is what a cabinet is to dispense, oldest first: the answer to its
// question. What it has left to begin is measured when all is read, so it is
// never too long: the question was asked before.
//
// Promise: a command is marked as offered, and that is committed, before anybody
// hears of it; from then on it is not taken back. Dies after the commit: it
// counts as offered though nobody heard of it, and the next question offers it
// again.
func (l *Ledger) OpenCommands(ctx context.Context, cabinet string) ([]wire.Vend, error) {
	open, err := l.readOpen(ctx, cabinet)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	var fresh []string
	for _, o := range open {
		if !o.offered {
			fresh = append(fresh, o.vend.ID)
		}
	}
	stands := map[string]bool{}
	if len(fresh) > 0 {
		if stands, err = l.offer(ctx, fresh); err != nil {
			return nil, err
		}
	}
	now := l.now()
	out := make([]wire.Vend, 0, len(open))
	for _, o := range open {
		o.vend.ExpiresIn = o.expiresAt - now
		if o.vend.ExpiresIn > 0 && (o.offered || stands[o.vend.ID]) {
			out = append(out, o.vend)
		}
	}
	return out, nil
}

type openCommand struct {
	vend      wire.Vend
	expiresAt int64
	offered   bool
}

func (l *Ledger) readOpen(ctx context.Context, cabinet string) ([]openCommand, error) {
	rows, err := l.read.QueryContext(ctx, `SELECT c.command_id, c.order_sn, c.expires_at, c.offered_at, l.sku_id, l.qty
		FROM trade_command c JOIN trade_order o ON o.order_sn = c.order_sn JOIN trade_order_line l ON l.order_sn = c.order_sn
		WHERE c.cabinet_id = ? AND c.status = 'open' AND c.expires_at > ? AND o.status = 'CONSUMED'
		ORDER BY c.created_at, c.command_id, l.sku_id`, cabinet, l.now())
	if err != nil {
		return nil, fmt.Errorf("ledger: read open commands: %w", err)
	}
	defer rows.Close()
	var out []openCommand
	for n := 0; rows.Next(); n++ {
		var o openCommand
		var offeredAt int64
		var line wire.Line
		if err := rows.Scan(&o.vend.ID, &o.vend.Order, &o.expiresAt, &offeredAt, &line.SKU, &line.Qty); err != nil {
			return nil, fmt.Errorf("ledger: read open commands: %w", err)
		}
		if len(out) == 0 || out[len(out)-1].vend.ID != o.vend.ID {
			if n >= maxOffered {
				break
			}
			o.offered = offeredAt != 0
			out = append(out, o)
		}
		last := &out[len(out)-1].vend
		last.Lines = append(last.Lines, line)
	}
	return out, rows.Err()
}

// offer marks commands that are still open as offered, and says which are.
func (l *Ledger) offer(ctx context.Context, ids []string) (stands map[string]bool, err error) {
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		stands = map[string]bool{}
		_, err := tx.ExecContext(ctx, "UPDATE trade_command SET offered_at = ? WHERE status = 'open' AND offered_at = 0 AND command_id IN ("+marks(len(ids))+")",
			append([]any{l.now()}, anys(ids)...)...)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT command_id FROM trade_command WHERE status = 'open' AND command_id IN ("+marks(len(ids))+")", anys(ids)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			stands[id] = true
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: offer commands: %w", err)
	}
	return stands, nil
}
