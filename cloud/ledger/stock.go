package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"vendline/cloud/statement"
)

type stockKey struct{ cabinet, sku string }

type lineKey struct{ id, sku string }

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
	now := l.now()
	args := make([]any, 0, len(moves)*7)
	// What does not fit may fit after another: units come back from an order that
	// is stated sold in the same batch.
	left := moves
	for n := -1; n != len(left); {
		n = len(left)
		some := left
		left = nil
		for _, m := range some {
			if m.row == nil {
				return nil, &noRowError{m.st.Cabinet, m.sku}
			}
			if !m.row.fits(m.delta) {
				left = append(left, m)
				continue
			}
			args = append(args, m.st.ID, m.sku, m.st.Cabinet, m.qty, string(m.st.State), m.st.Version, now)
		}
	}
	rest := make(map[lineKey]bool, len(left))
	for _, m := range left {
		rest[lineKey{m.st.ID, m.sku}] = true
	}
	if err := insertRows(ctx, tx, "INSERT INTO trade_stock_deduct_log (order_sn, sku_id, cabinet_id, qty, status, version, changed_at)",
		7, args, l.dialect.upsertLog); err != nil {
		return nil, fmt.Errorf("write deduct log: %w", err)
	}
	return rest, l.updateStock(ctx, tx, stock)
}

// noRowError says that a statement is about a product its cabinet never had.
type noRowError struct{ cabinet, sku string }

func (e *noRowError) Error() string {
	return fmt.Sprintf("cabinet %s has no stock row for %s", e.cabinet, e.sku)
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

// updateStock writes all touched rows, in id order, updateRows to a statement.
func (l *Ledger) updateStock(ctx context.Context, tx *sql.Tx, stock map[stockKey]*stockRow) error {
	var rows []*stockRow
	for _, r := range stock {
		if r.touched {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *stockRow) int { return cmp.Compare(a.id, b.id) })
	for some := range slices.Chunk(rows, updateRows) {
		if err := updateSome(ctx, tx, some); err != nil {
			return fmt.Errorf("update stock: %w", err)
		}
		l.counters.StockUpdates.Add(1)
	}
	return nil
}

// updateRows bounds an UPDATE: each CASE is searched from its head for every
// row, so a statement's cost grows with the square of its rows.
const updateRows = 32

// stockColumns are the columns of a stock row that statements move, with the
// change to each since the row was read.
var stockColumns = [...]struct {
	name  string
	delta func(*stockRow) int64
}{
	{"total", func(r *stockRow) int64 { return r.total - r.was.Total }},
	{"available", func(r *stockRow) int64 { return r.available - r.was.Available }},
	{"locked", func(r *stockRow) int64 { return r.locked - r.was.Locked }},
	{"sold", func(r *stockRow) int64 { return r.sold - r.was.Sold }},
}

// updateSome writes rows in one statement, with a CASE for each column that
// moves. The WHERE clause is the last guard: a row that would fall below zero is
// not changed, the affected rows do not add up, and the transaction is undone.
// Every WHEN is unique and every CASE has its ELSE: a duplicate would apply
// once, a miss would be NULL.
func updateSome(ctx context.Context, tx *sql.Tx, rows []*stockRow) error {
	var set, guard strings.Builder
	var setArgs, ids, guardArgs []any
	for _, c := range stockColumns {
		var moved strings.Builder
		var args []any
		falls := false
		for _, r := range rows {
			if d := c.delta(r); d != 0 {
				moved.WriteString(" WHEN ? THEN ?")
				args = append(args, r.id, d)
				falls = falls || d < 0
			}
		}
		if len(args) == 0 {
			continue
		}
		sum := c.name + " + CASE id" + moved.String() + " ELSE 0 END"
		set.WriteString(c.name + " = " + sum + ", ")
		setArgs = append(setArgs, args...)
		if falls {
			guard.WriteString(" AND " + sum + " >= 0")
			guardArgs = append(guardArgs, args...)
		}
	}
	for _, r := range rows {
		ids = append(ids, r.id)
	}
	res, err := tx.ExecContext(ctx, "UPDATE trade_sku_stock SET "+set.String()+"version = version + 1 WHERE id IN ("+marks(len(rows))+")"+guard.String(),
		slices.Concat(setArgs, ids, guardArgs)...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n != int64(len(rows)) {
		return fmt.Errorf("%d of %d rows changed", n, len(rows))
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
	for some := range slices.Chunk(ids, maxArgs) {
		if err := l.lockSome(ctx, tx, some, stock); err != nil {
			return nil, fmt.Errorf("lock stock: %w", err)
		}
	}
	return stock, nil
}

func (l *Ledger) lockSome(ctx context.Context, tx *sql.Tx, ids []int64, into map[stockKey]*stockRow) error {
	rows, err := tx.QueryContext(ctx, "SELECT id, cabinet_id, sku_id, total, available, locked, sold FROM trade_sku_stock WHERE id IN ("+
		marks(len(ids))+") ORDER BY id"+l.dialect.forUpdate, anys(ids)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r := &stockRow{}
		if err := rows.Scan(&r.id, &r.key.cabinet, &r.key.sku, &r.total, &r.available, &r.locked, &r.sold); err != nil {
			return err
		}
		r.was = statement.Effect{Total: r.total, Available: r.available, Locked: r.locked, Sold: r.sold}
		into[r.key] = r
	}
	return rows.Err()
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
