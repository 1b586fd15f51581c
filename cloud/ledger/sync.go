package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// errShort undoes a synchronous placement whose basket cannot be taken.
var errShort = errors.New("ledger: stock short")

// PlaceSync is the synchronous mode: stock, deduct log, order and lines in one
// guarded transaction per order, through the same applyTx as step 8. No Redis,
// no queue, no sharing: the baseline of every benchmark.
//
// Promise: nil means all of it is durable; any error means nothing is.
func (l *Ledger) PlaceSync(ctx context.Context, o order.Order, limits []order.Item) error {
	var short []wire.Shortage
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		short = nil
		if err := l.checkDirect(ctx, tx, o.Cabinet); err != nil {
			return err
		}
		if err := l.checkLimits(ctx, tx, o, limits); err != nil {
			return err
		}
		rest, err := l.applyTx(ctx, tx, []statement.Statement{statementOf(o)})
		if err != nil {
			if refusal := l.unknownSKU(ctx, tx, o); refusal != nil {
				return refusal
			}
			return err
		}
		if len(rest) > 0 {
			if short, err = l.shortages(ctx, tx, o); err != nil {
				return err
			}
			return errShort
		}
		now := l.now()
		if err := insertRows(ctx, tx, insertOrder, orderCols, appendOrder(nil, o, now, "placed"), ""); err != nil {
			if duplicate(err) {
				return order.ErrExists
			}
			return fmt.Errorf("insert order: %w", err)
		}
		if err := insertRows(ctx, tx, insertLine, lineCols, appendLines(nil, o), ""); err != nil {
			return fmt.Errorf("insert lines: %w", err)
		}
		return nil
	})
	if errors.Is(err, errShort) {
		// The log may know the id from an earlier attempt under the same key.
		if _, found := l.Find(ctx, o.ID); found == nil {
			return order.ErrExists
		}
		return &order.Refusal{Code: wire.CodeStockShort, Detail: "not enough stock", Short: short}
	}
	if err == nil {
		l.counters.OrderCommits.Add(1)
		l.counters.Orders.Add(1)
		l.opt.Changed([]order.Order{o})
	}
	return err
}

// checkDirect makes sure that this process still owns the stock.
func (l *Ledger) checkDirect(ctx context.Context, tx *sql.Tx, cabinet string) error {
	current, err := l.generations(ctx, tx, map[string]struct{}{cabinet: {}})
	if err != nil {
		return fmt.Errorf("read generations: %w", err)
	}
	g, ok := current[cabinet]
	if !ok {
		return &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no cabinet " + cabinet}
	}
	l.fleetMu.Lock()
	defer l.fleetMu.Unlock()
	if !strings.HasSuffix(g, "."+l.fleet) {
		return &order.Refusal{Code: wire.CodeFenced, Detail: "another service has taken the stock over; restart this one to take it back"}
	}
	return nil
}

// checkLimits counts what the shopper holds or bought here in the last day.
func (l *Ledger) checkLimits(ctx context.Context, tx *sql.Tx, o order.Order, limits []order.Item) error {
	for _, it := range limits {
		if it.Limit <= 0 {
			continue
		}
		var had sql.NullInt64
		err := tx.QueryRowContext(ctx, `SELECT SUM(l.qty) FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
			WHERE o.cabinet_id = ? AND o.changed_at >= ? AND o.user_id = ? AND o.status IN ('PRE_RESERVED', 'CONSUMED') AND l.sku_id = ?`,
			o.Cabinet, l.opt.Clock().Add(-24*time.Hour).UnixMilli(), o.User, it.SKU).Scan(&had)
		if err != nil {
			return fmt.Errorf("read purchase limit: %w", err)
		}
		if had.Int64+int64(it.Qty) > int64(it.Limit) {
			return &order.Refusal{Code: wire.CodePurchaseLimit, Detail: fmt.Sprintf("%s is limited to %d per shopper a day", it.SKU, it.Limit)}
		}
	}
	return nil
}

func (l *Ledger) unknownSKU(ctx context.Context, tx *sql.Tx, o order.Order) error {
	have, err := l.sellable(ctx, tx, o.Cabinet)
	if err != nil {
		return nil // the first error stands
	}
	for _, line := range o.Lines {
		if _, ok := have[line.SKU]; !ok {
			return &order.Refusal{Code: wire.CodeSKUUnknown, Detail: "this cabinet does not sell " + line.SKU}
		}
	}
	return nil
}

func (l *Ledger) shortages(ctx context.Context, tx *sql.Tx, o order.Order) ([]wire.Shortage, error) {
	rows, err := tx.QueryContext(ctx, "SELECT sku_id, available FROM trade_sku_stock WHERE cabinet_id = ?", o.Cabinet)
	if err != nil {
		return nil, fmt.Errorf("read stock: %w", err)
	}
	defer rows.Close()
	have := map[string]int64{}
	for rows.Next() {
		var sku string
		var n int64
		if err := rows.Scan(&sku, &n); err != nil {
			return nil, fmt.Errorf("read stock: %w", err)
		}
		have[sku] = n
	}
	var short []wire.Shortage
	for _, line := range o.Lines {
		if have[line.SKU] < int64(line.Qty) {
			short = append(short, wire.Shortage{SKU: line.SKU, Want: line.Qty, Have: int(have[line.SKU])})
		}
	}
	return short, rows.Err()
}
