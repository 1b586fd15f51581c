package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/order"
)

// moves gathers the transitions of one transaction, so that orders that move
// alike share a statement: when thousands of holds end in the same second, what
// costs is the round trip and not the row.
type moves struct {
	l       *Ledger
	now     int64
	alike   map[alike][]any // → their ids
	moving  map[string]bool
	history []any
}

// alike is what orders must have in common to move in one statement.
type alike struct {
	from, to order.Status
	cause    string
	hold     int64 // hold_until, Unix ms; 0 is none
}

// add takes one transition in. A second one of the same order lets go of what
// was gathered before, so that they happen in their order.
func (w *moves) add(ctx context.Context, tx *sql.Tx, was, next order.Order, e order.Event, cause string) error {
	if w.moving[was.ID] {
		if err := w.flush(ctx, tx); err != nil {
			return err
		}
	}
	if w.alike == nil {
		w.alike, w.moving = map[alike][]any{}, map[string]bool{}
	}
	m := alike{from: was.Status, to: next.Status, cause: cause}
	if !next.HoldUntil.IsZero() {
		m.hold = next.HoldUntil.UnixMilli()
	}
	w.alike[m] = append(w.alike[m], was.ID)
	w.moving[was.ID] = true
	entry := transition(was, next, e, cause)
	entry.At = ms(w.now)
	w.history = append(w.history, was.ID, w.l.opt.ID(), w.now, encode(entry))
	return nil
}

// flush writes what was gathered. Each statement is a compare-and-set: the
// orders are locked by this transaction, which read their versions under the
// lock, so a row that does not match is a fault, and undoes everything.
func (w *moves) flush(ctx context.Context, tx *sql.Tx) error {
	for m, ids := range w.alike {
		var hold any
		if m.hold != 0 {
			hold = m.hold
		}
		args, first := []any{string(m.to), m.cause, w.now, hold}, ""
		if m.from == order.Init { // a hold's first end is what it is answered with for ever
			args, first = append(args, hold), ", expires_at = ?"
		}
		args = append(append(args, string(m.from)), ids...)
		res, err := tx.ExecContext(ctx, `UPDATE trade_order SET status = ?, version = version + 1, cause = ?, changed_at = ?, hold_until = ?`+first+`
			WHERE status = ? AND order_sn IN (`+marks(len(ids))+")", args...)
		if err != nil {
			return fmt.Errorf("update orders: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n != int64(len(ids)) {
			return fmt.Errorf("update %d orders: %d rows changed under their locks (%v)", len(ids), n, err)
		}
	}
	if err := insertRows(ctx, tx, insertEvent, eventCols, w.history, ""); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	w.alike, w.moving, w.history = nil, nil, nil
	return nil
}
