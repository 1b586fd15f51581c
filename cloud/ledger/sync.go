package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// errShort undoes a synchronous placement whose basket cannot be taken.
var errShort = errors.New("ledger: stock short")

// PlaceSync is the synchronous mode: stock, deduct log, order and lines in one
// guarded transaction per order, through the same applyTx as step 8. No Redis,
// no queue, no sharing: the baseline of every benchmark.
//
// Promise: nil means all of it is durable; any error means nothing is. The
// order's row comes first, so that a replay meets it whatever the stock is by
// now; limits come after the stock rows' locks, so that of two orders at once
// the second one counts the first.
func (l *Ledger) PlaceSync(ctx context.Context, o order.Order, limits []order.Item) error {
	return l.direct(ctx, o.Cabinet, limits, func(tx *sql.Tx, b *rowSet) (order.Order, error) {
		if err := l.replaced(ctx, tx, b, []order.Order{o}); err != nil {
			return o, err
		}
		return o, l.insertDirect(ctx, tx, o)
	})
}

// direct places the order that put writes, in one transaction.
func (l *Ledger) direct(ctx context.Context, cabinet string, limits []order.Item, put func(tx *sql.Tx, b *rowSet) (order.Order, error)) error {
	var rows []outbox.Row
	var o order.Order
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) (err error) {
		rows = nil
		if err := l.checkDirect(ctx, tx, cabinet); err != nil {
			return err
		}
		b := l.newRows(l.now())
		if o, err = put(tx, b); err != nil {
			return err
		}
		rest, err := l.applyTx(ctx, tx, []statement.Statement{statementOf(o)})
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return errShort
		}
		if err := l.checkWaiting(ctx, tx, o); err != nil {
			return err
		}
		if err := l.checkLimits(ctx, tx, o, limits); err != nil {
			return err
		}
		rows = b.rows()
		return l.insertMsgs(ctx, tx, rows)
	})
	var unknown *noRowError
	switch {
	case errors.As(err, &unknown):
		return &order.Refusal{Code: wire.CodeSKUUnknown, Detail: "this cabinet does not sell " + unknown.sku}
	case errors.Is(err, errShort):
		have, err := l.Sellable(ctx, o.Cabinet)
		if err != nil {
			return err
		}
		return shortOf(o, have)
	case err == nil:
		l.counters.OrderCommits.Add(1)
		l.counters.Orders.Add(1)
		l.opt.Feed(rows)
		l.opt.Changed([]order.Order{o})
	}
	return err
}

// checkDirect makes sure that this process still owns the stock.
func (l *Ledger) checkDirect(ctx context.Context, tx *sql.Tx, cabinet string) error {
	current, err := l.generations(ctx, tx, map[string]struct{}{cabinet: {}}, l.dialect.forShare)
	if err != nil {
		return fmt.Errorf("read generations: %w", err)
	}
	g, ok := current[cabinet]
	if !ok {
		return &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no cabinet " + cabinet}
	}
	return l.owns(g)
}

func (l *Ledger) insertDirect(ctx context.Context, tx *sql.Tx, o order.Order) error {
	var h holds
	h.add(o, l.now())
	if err := h.insert(ctx, tx); err != nil {
		if duplicate(err) {
			return order.ErrExists
		}
		return fmt.Errorf("insert order: %w", err)
	}
	if err := insertRows(ctx, tx, insertLine, lineCols, appendLines(nil, o), ""); err != nil {
		return fmt.Errorf("insert lines: %w", err)
	}
	return nil
}

// checkWaiting keeps units for the orders of a service that ran before in the
// other mode, and whose statements nobody has applied yet. Once none waits, none
// that takes units can come any more: that service's placements are refused.
func (l *Ledger) checkWaiting(ctx context.Context, tx *sql.Tx, o order.Order) error {
	if l.drained.Load() {
		return nil
	}
	var n int64
	err := tx.QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM local_msg WHERE kind = 'stock') + (SELECT COUNT(*) FROM dead_letter WHERE source = '"+stockSource+"' AND state = 'open')").Scan(&n)
	if err != nil {
		return fmt.Errorf("count waiting statements: %w", err)
	}
	if n == 0 {
		l.drained.Store(true)
		return nil
	}
	truth, err := l.sellable(ctx, tx, o.Cabinet)
	if err != nil {
		return err
	}
	for _, line := range o.Lines {
		if truth[line.SKU] < 0 {
			return errShort
		}
	}
	return nil
}

// checkLimits counts what else the shopper ordered here in the last day and
// holds or bought.
func (l *Ledger) checkLimits(ctx context.Context, tx *sql.Tx, o order.Order, limits []order.Item) error {
	since := l.now() - markAge
	for _, it := range limits {
		if it.Limit <= 0 {
			continue
		}
		var had sql.NullInt64
		err := tx.QueryRowContext(ctx, `SELECT SUM(l.qty) FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
			WHERE o.cabinet_id = ? AND o.changed_at >= ? AND o.created_at > ? AND o.user_id = ? AND o.order_sn <> ?
			AND o.status IN ('PRE_RESERVED', 'CONSUMED') AND l.sku_id = ?`,
			o.Cabinet, since, since, o.User, o.ID, it.SKU).Scan(&had)
		if err != nil {
			return fmt.Errorf("read purchase limit: %w", err)
		}
		if had.Int64+int64(it.Qty) > int64(it.Limit) {
			return &order.Refusal{Code: wire.CodePurchaseLimit, Detail: fmt.Sprintf("%s is limited to %d per shopper a day", it.SKU, it.Limit)}
		}
	}
	return nil
}

// shortOf refuses an order, with what there is of each SKU it asks too much of.
func shortOf(o order.Order, have map[string]int64) *order.Refusal {
	no := &order.Refusal{Code: wire.CodeStockShort, Detail: "not enough stock"}
	for _, line := range o.Lines {
		if n := max(0, have[line.SKU]); n < int64(line.Qty) {
			no.Short = append(no.Short, wire.Shortage{SKU: line.SKU, Want: line.Qty, Have: int(n)})
		}
	}
	return no
}
