package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"vendline/cloud/order"
)

const (
	insertEvent = "INSERT INTO trade_order_event (order_sn, event_id, at, body)"
	eventCols   = 4
)

// note adds entries to an order's history, in the transaction that makes them
// true. An order's placement needs none: its own row tells it (see History).
func (l *Ledger) note(ctx context.Context, tx *sql.Tx, id string, now int64, es ...order.Entry) error {
	args := make([]any, 0, len(es)*eventCols)
	for _, e := range es {
		e.At = ms(now)
		args = append(args, id, l.opt.ID(), now, encode(e))
	}
	if err := insertRows(ctx, tx, insertEvent, eventCols, args, ""); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// History returns what happened to an order, oldest first, or order.ErrUnknown.
func (l *Ledger) History(ctx context.Context, id string) ([]order.Entry, error) {
	o, err := l.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	rows, err := l.read.QueryContext(ctx, "SELECT body FROM trade_order_event WHERE order_sn = ? ORDER BY at, event_id", id)
	if err != nil {
		return nil, fmt.Errorf("ledger: read history: %w", err)
	}
	defer rows.Close()
	var later []order.Entry
	for rows.Next() {
		var body []byte
		var e order.Entry
		if err := rows.Scan(&body); err != nil {
			return nil, fmt.Errorf("ledger: read history: %w", err)
		}
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, fmt.Errorf("ledger: read history of %s: %w", id, err)
		}
		later = append(later, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("ledger: read history: %w", err)
	}
	return append([]order.Entry{placed(o)}, later...), nil
}

// placed is the entry that an order's own row stands for.
func placed(o order.Order) order.Entry {
	e := order.Entry{At: o.CreatedAt, Kind: order.EntryTransition, Event: order.PreDeduct, From: order.Init, To: order.PreReserved, Version: 1,
		Amount: o.Amount, Currency: o.Currency, Cause: "placed"}
	if o.Intent != nil {
		return order.Entry{At: o.CreatedAt, Kind: order.EntryIntent, To: order.Init, State: string(order.IntentPending), Amount: o.Amount, Currency: o.Currency, Cause: "taken in"}
	}
	if o.Orphan {
		e.To, e.Event, e.Cause = order.RolledBack, order.Timeout, "given back: no placement finished"
	}
	return e
}
