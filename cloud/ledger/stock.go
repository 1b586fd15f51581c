package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"

	"vendline/cloud/order"
	"vendline/cloud/statement"
)

type stockKey struct{ cabinet, sku string }

type lineKey struct{ id, sku string }

// stockIDs remembers the id of each stock row. Ids never change and rows never
// go, so an entry is right for ever.
type stockIDs struct {
	mu  sync.RWMutex
	ids map[stockKey]int64
}

type stockRow struct {
	id                             int64
	key                            stockKey
	total, available, locked, sold int64
	was                            statement.Effect // as read
	touched                        bool
}

// fits adds n units of e if no column falls below zero.
func (r *stockRow) fits(e statement.Effect) bool {
	if r.total+e.Total < 0 || r.available+e.Available < 0 || r.locked+e.Locked < 0 || r.sold+e.Sold < 0 {
		return false
	}
	r.total += e.Total
	r.available += e.Available
	r.locked += e.Locked
	r.sold += e.Sold
	r.touched = true
	return true
}

type logRow struct {
	status  statement.State
	version int64
}

// applyTx moves every line from what the deduct log knows to what is stated. It
// returns the lines that would bring a stock row below zero: a release they
// depend on is still under way, or the shortage is real.
//
// Every writer of a (cabinet, sku) row, and of log rows for it, holds that stock
// row's lock, taken in id order; so the log read after it is the latest.
func (l *Ledger) applyTx(ctx context.Context, tx *sql.Tx, sts []statement.Statement) (map[lineKey]bool, error) {
	if len(sts) == 0 {
		return nil, nil
	}
	stock, err := l.lockStock(ctx, tx, sts)
	if err != nil {
		return nil, err
	}
	known, err := readLog(ctx, tx, sts)
	if err != nil {
		return nil, err
	}
	var moves []move
	for _, s := range sts {
		to, _ := statement.EffectOf(s.State)
		for _, w := range s.Lines {
			was := known[lineKey{s.ID, w.SKU}]
			if was.version >= s.Version {
				continue
			}
			from, _ := statement.EffectOf(was.status)
			moves = append(moves, move{st: s, sku: w.SKU, qty: w.Qty, row: stock[stockKey{s.Cabinet, w.SKU}], delta: diff(from, to, int64(w.Qty))})
		}
	}
	// Increases first, so that a release in the batch pays for a deduct in it.
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(b.delta.Available, a.delta.Available) })
	rest := map[lineKey]bool{}
	now := l.now()
	args := make([]any, 0, len(moves)*7)
	for _, m := range moves {
		if m.row == nil {
			return nil, fmt.Errorf("cabinet %s has no stock row for %s", m.st.Cabinet, m.sku)
		}
		if !m.row.fits(m.delta) {
			rest[lineKey{m.st.ID, m.sku}] = true
			continue
		}
		args = append(args, m.st.ID, m.sku, m.st.Cabinet, m.qty, string(m.st.State), m.st.Version, now)
	}
	if err := insertRows(ctx, tx, "INSERT INTO trade_stock_deduct_log (order_sn, sku_id, cabinet_id, qty, status, version, changed_at)",
		7, args, l.dialect.upsertLog); err != nil {
		return nil, fmt.Errorf("write deduct log: %w", err)
	}
	l.counters.StockUpdates.Add(1)
	return rest, updateStock(ctx, tx, stock)
}

type move struct {
	st    statement.Statement
	sku   string
	qty   int
	row   *stockRow
	delta statement.Effect
}

func diff(from, to statement.Effect, qty int64) statement.Effect {
	return statement.Effect{
		Total: (to.Total - from.Total) * qty, Available: (to.Available - from.Available) * qty,
		Locked: (to.Locked - from.Locked) * qty, Sold: (to.Sold - from.Sold) * qty,
	}
}

// updateStock writes all touched rows in one statement. The WHERE clause is the
// last guard: a row that would fall below zero is not changed, the affected
// rows do not add up, and the transaction is undone. Every WHEN is unique and
// every CASE has its ELSE: a duplicate would apply once, a miss would be NULL.
func updateStock(ctx context.Context, tx *sql.Tx, stock map[stockKey]*stockRow) error {
	var rows []*stockRow
	for _, r := range stock {
		if r.touched {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b *stockRow) int { return cmp.Compare(a.id, b.id) })
	var q strings.Builder
	var args []any
	column := func(delta func(*stockRow) int64) string {
		var c strings.Builder
		c.WriteString("CASE id")
		for _, r := range rows {
			c.WriteString(" WHEN ? THEN ?")
			args = append(args, r.id, delta(r))
		}
		c.WriteString(" ELSE 0 END")
		return c.String()
	}
	available := func(r *stockRow) int64 { return r.available - r.was.Available }
	locked := func(r *stockRow) int64 { return r.locked - r.was.Locked }
	sold := func(r *stockRow) int64 { return r.sold - r.was.Sold }
	total := func(r *stockRow) int64 { return r.total - r.was.Total }
	q.WriteString("UPDATE trade_sku_stock SET total = total + " + column(total))
	q.WriteString(", available = available + " + column(available))
	q.WriteString(", locked = locked + " + column(locked))
	q.WriteString(", sold = sold + " + column(sold))
	q.WriteString(", version = version + 1 WHERE id IN (" + marks(len(rows)) + ")")
	for _, r := range rows {
		args = append(args, r.id)
	}
	q.WriteString(" AND available + " + column(available) + " >= 0")
	q.WriteString(" AND locked + " + column(locked) + " >= 0")
	q.WriteString(" AND sold + " + column(sold) + " >= 0")
	res, err := tx.ExecContext(ctx, q.String(), args...)
	if err != nil {
		return fmt.Errorf("update stock: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("update stock: %w", err)
	}
	if n != int64(len(rows)) {
		return fmt.Errorf("update stock: %d of %d rows changed", n, len(rows))
	}
	return nil
}

// lockStock locks the stock rows of all lines, in id order, and reads them.
func (l *Ledger) lockStock(ctx context.Context, tx *sql.Tx, sts []statement.Statement) (map[stockKey]*stockRow, error) {
	ids, err := l.stockRowIDs(ctx, tx, sts)
	if err != nil {
		return nil, err
	}
	stock := make(map[stockKey]*stockRow, len(ids))
	if len(ids) == 0 {
		return stock, nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, cabinet_id, sku_id, total, available, locked, sold FROM trade_sku_stock WHERE id IN ("+
		marks(len(ids))+") ORDER BY id"+l.dialect.forUpdate, anys(ids)...)
	if err != nil {
		return nil, fmt.Errorf("lock stock: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		r := &stockRow{}
		if err := rows.Scan(&r.id, &r.key.cabinet, &r.key.sku, &r.total, &r.available, &r.locked, &r.sold); err != nil {
			return nil, fmt.Errorf("lock stock: %w", err)
		}
		r.was = statement.Effect{Total: r.total, Available: r.available, Locked: r.locked, Sold: r.sold}
		stock[r.key] = r
	}
	return stock, rows.Err()
}

// stockRowIDs finds the ids of all lines' rows, asking the database only for
// rows not met before. A fact about a product new to the cabinet makes its row.
func (l *Ledger) stockRowIDs(ctx context.Context, tx *sql.Tx, sts []statement.Statement) ([]int64, error) {
	seen := map[stockKey]struct{}{}
	var ids []int64
	missing := map[string][]any{} // cabinet → SKUs
	l.stockID.mu.RLock()
	for _, s := range sts {
		for _, w := range s.Lines {
			k := stockKey{s.Cabinet, w.SKU}
			if _, dup := seen[k]; dup {
				continue
			}
			seen[k] = struct{}{}
			if id, ok := l.stockID.ids[k]; ok {
				ids = append(ids, id)
			} else {
				missing[k.cabinet] = append(missing[k.cabinet], k.sku)
			}
		}
	}
	l.stockID.mu.RUnlock()
	if len(missing) == 0 {
		slices.Sort(ids)
		return ids, nil
	}
	for _, s := range sts {
		if s.State.Fact() && missing[s.Cabinet] != nil {
			if err := l.makeStock(ctx, tx, s); err != nil {
				return nil, err
			}
		}
	}
	for cabinet, skus := range missing {
		found, err := l.findStock(ctx, tx, cabinet, skus)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	return ids, nil
}

func (l *Ledger) makeStock(ctx context.Context, tx *sql.Tx, s statement.Statement) error {
	var args []any
	for _, w := range s.Lines {
		args = append(args, s.Cabinet, w.SKU, 0, 0, 0, 0, 0)
	}
	err := insertRows(ctx, tx, l.dialect.insertNew+"trade_sku_stock (cabinet_id, sku_id, total, available, locked, sold, version)", 7, args, "")
	if err != nil {
		return fmt.Errorf("make stock rows: %w", err)
	}
	return nil
}

// findStock asks for row ids. Only ids seen as committed may be remembered: a
// row made in this very transaction may still be undone.
func (l *Ledger) findStock(ctx context.Context, tx *sql.Tx, cabinet string, skus []any) ([]int64, error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, sku_id, version FROM trade_sku_stock WHERE cabinet_id = ? AND sku_id IN ("+marks(len(skus))+")",
		append([]any{cabinet}, skus...)...)
	if err != nil {
		return nil, fmt.Errorf("find stock rows: %w", err)
	}
	defer rows.Close()
	var ids []int64
	l.stockID.mu.Lock()
	defer l.stockID.mu.Unlock()
	for rows.Next() {
		var id, version int64
		var sku string
		if err := rows.Scan(&id, &sku, &version); err != nil {
			return nil, fmt.Errorf("find stock rows: %w", err)
		}
		ids = append(ids, id)
		if version > 0 {
			l.stockID.ids[stockKey{cabinet, sku}] = id
		}
	}
	return ids, rows.Err()
}

func readLog(ctx context.Context, tx *sql.Tx, sts []statement.Statement) (map[lineKey]logRow, error) {
	known := map[lineKey]logRow{}
	ids := make([]any, len(sts))
	for i, s := range sts {
		ids[i] = s.ID
	}
	for len(ids) > 0 {
		n := min(len(ids), maxArgs)
		rows, err := tx.QueryContext(ctx, "SELECT order_sn, sku_id, status, version FROM trade_stock_deduct_log WHERE order_sn IN ("+marks(n)+")", ids[:n]...)
		if err != nil {
			return nil, fmt.Errorf("read deduct log: %w", err)
		}
		for rows.Next() {
			var k lineKey
			var g logRow
			if err := rows.Scan(&k.id, &k.sku, &g.status, &g.version); err != nil {
				rows.Close()
				return nil, fmt.Errorf("read deduct log: %w", err)
			}
			known[k] = g
		}
		if err := rows.Err(); err != nil {
			return nil, fmt.Errorf("read deduct log: %w", err)
		}
		ids = ids[n:]
	}
	return known, nil
}

// applyDirect moves stock in the order's own transaction: the synchronous mode.
func (l *Ledger) applyDirect(ctx context.Context, tx *sql.Tx, os []order.Order) error {
	sts := make([]statement.Statement, len(os))
	for i, o := range os {
		sts[i] = statementOf(o)
	}
	rest, err := l.applyTx(ctx, tx, newest(sts))
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("stock would fall below zero")
	}
	return err
}
