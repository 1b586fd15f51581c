package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"vendline/cloud/order"
)

// querier is a transaction or a database.
type querier interface {
	QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error)
}

const selectOrder = "SELECT order_sn, cabinet_id, user_id, status, version, amount, currency, orphan, created_at, changed_at, expires_at, hold_until, priced_at, intent FROM trade_order"

// Find returns an order with its lines, or order.ErrUnknown.
func (l *Ledger) Find(ctx context.Context, id string) (order.Order, error) {
	found, err := orders(ctx, l.read, selectOrder+" WHERE order_sn = ?", id)
	if err != nil {
		return order.Order{}, fmt.Errorf("ledger: find order: %w", err)
	}
	if len(found) == 0 {
		return order.Order{}, order.ErrUnknown
	}
	return found[0].Order, nil
}

type stored struct {
	order.Order
	changedAt int64
}

// orders runs an order query and fills in the lines, and intents if there are any.
func orders(ctx context.Context, q querier, query string, args ...any) ([]stored, error) {
	found, err := heads(ctx, q, query, args...)
	if err != nil || len(found) == 0 {
		return found, err
	}
	at := make(map[string]int, len(found))
	ids := make([]any, len(found))
	for i, o := range found {
		at[o.ID], ids[i] = i, o.ID
	}
	for len(ids) > 0 {
		n := min(len(ids), maxArgs)
		if err := lines(ctx, q, ids[:n], func(id string, l order.Line) {
			found[at[id]].Lines = append(found[at[id]].Lines, l)
		}); err != nil {
			return nil, err
		}
		ids = ids[n:]
	}
	return found, fillIntents(ctx, q, found)
}

func heads(ctx context.Context, q querier, query string, args ...any) ([]stored, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []stored
	for rows.Next() {
		var o stored
		var status string
		var orphan, intent int
		var created, expires int64
		var hold sql.NullInt64
		if err := rows.Scan(&o.ID, &o.Cabinet, &o.User, &status, &o.Version, &o.Amount, &o.Currency, &orphan, &created, &o.changedAt, &expires, &hold, &o.PricedAt, &intent); err != nil {
			return nil, err
		}
		o.Status, o.Orphan, o.CreatedAt, o.ExpiresAt = order.Status(status), orphan != 0, ms(created), ms(expires)
		if hold.Valid {
			o.HoldUntil = ms(hold.Int64)
		}
		if intent != 0 {
			o.Intent = &order.Intent{}
		}
		found = append(found, o)
	}
	return found, rows.Err()
}

func lines(ctx context.Context, q querier, ids []any, each func(id string, l order.Line)) error {
	rows, err := q.QueryContext(ctx, "SELECT order_sn, sku_id, qty, price, state, dropped FROM trade_order_line WHERE order_sn IN ("+
		marks(len(ids))+") ORDER BY order_sn, sku_id", ids...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var l order.Line
		if err := rows.Scan(&id, &l.SKU, &l.Qty, &l.Price, &l.State, &l.Dropped); err != nil {
			return err
		}
		each(id, l)
	}
	return rows.Err()
}

// Overdue returns up to n ids of holds whose time was over at the given time,
// oldest first: what the sweeper asks.
func (l *Ledger) Overdue(ctx context.Context, at time.Time, n int) ([]string, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT order_sn FROM trade_order WHERE hold_until <= ? ORDER BY hold_until LIMIT "+itoa(n), at.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("ledger: find overdue holds: %w", err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("ledger: find overdue holds: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Recent returns a cabinet's n latest orders, newest first.
func (l *Ledger) Recent(ctx context.Context, cabinet string, n int) ([]order.Order, error) {
	found, err := orders(ctx, l.read, selectOrder+" WHERE cabinet_id = ? ORDER BY changed_at DESC LIMIT "+itoa(n), cabinet)
	if err != nil {
		return nil, fmt.Errorf("ledger: recent orders: %w", err)
	}
	return ordersOf(found), nil
}
