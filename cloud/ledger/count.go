package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// Count is a fact with what was found at a cabinet: a stocktake, or a restock
// before whose Lines were put in somebody counted.
type Count struct {
	Fact
	Counts []wire.Count
	Upto   int64 // seq of the last event that had happened when it was counted; 0 is all before this one
}

// RecordCount makes a count durable, once per id; see Record. What was found and
// what the books expect to be there differ by a drift, or a loss, which is booked
// as a fact of ours beside it.
//
// The books expect what can be sold, plus what is promised and has not left its
// slot: holds, and paid lines of which no cabinet has said anything. A line that
// the cabinet cannot tell about is taken for gone, and so is one whose time is
// long over: if it never dropped, the count finds it.
//
// # Facts that come late
//
// A cabinet's facts have an order, their seq within one epoch; messages may have
// another. So a count says what was there at one place of that order, upto, and
// the books are compared with it at that place: what later facts that are booked
// already have done is undone for the comparison. A fact from before that place
// that comes afterwards happened before somebody counted, and is in what he
// found: it is booked (the sale is a sale) together with a difference that undoes
// it in the number of units there, which the count has settled. Of two counts
// the one with the higher upto stands, whichever comes first. Each rule is about
// one SKU, since a count need not name all.
//
// Promise: when it returns nil, the count, its difference, and the outbox rows
// that tell stock and Redis of it are committed together, under the cabinet's
// exclusive lock and from one snapshot. Dies before: the cabinet sends it again.
// Dies after: it is sent again and is here.
func (l *Ledger) RecordCount(ctx context.Context, c Count) error {
	if c.Upto <= 0 || c.Upto >= c.Seq {
		c.Upto = c.Seq - 1 // nobody can have counted what had not happened
	}
	return l.recordAlone(ctx, c.Fact, true, func(tx *sql.Tx, b *rowSet) ([]order.Order, error) {
		known, err := l.counted(ctx, tx, &factItem{c.Fact})
		if err != nil {
			return nil, err
		}
		fresh := slices.DeleteFunc(slices.Clone(c.Counts), func(k wire.Count) bool {
			m, ok := known[countKey{c.Cabinet, c.Epoch, k.SKU}]
			return ok && (m.upto > c.Upto || m.upto == c.Upto && m.seq > c.Seq)
		})
		if err := l.bookCounts(ctx, tx, b, c, fresh); err != nil {
			return nil, err
		}
		if err := l.addFactLines(ctx, tx, b, c.Fact); err != nil {
			return nil, err
		}
		// Units put in were put in after this count, but maybe before another's.
		if err := l.absorb(ctx, tx, b, c.Fact, known); err != nil {
			return nil, err
		}
		if err := l.restocked(ctx, tx, b, c.Fact, known); err != nil {
			return nil, err
		}
		skus := make([]string, len(fresh))
		for i, k := range fresh {
			skus[i] = k.SKU
		}
		return nil, liftSoldOut(ctx, tx, c.Cabinet, skus)
	})
}

// bookCounts books the differences of counts that no later count overtook.
func (l *Ledger) bookCounts(ctx context.Context, tx *sql.Tx, b *rowSet, c Count, counts []wire.Count) error {
	if len(counts) == 0 {
		return nil
	}
	expected, err := l.sellable(ctx, tx, c.Cabinet)
	if err != nil {
		return err
	}
	if err := l.addInside(ctx, tx, c.Cabinet, b.now, expected); err != nil {
		return err
	}
	if err := undoLater(ctx, tx, c, expected); err != nil {
		return err
	}
	diff, skus := skuUnits{}, make([]string, len(counts))
	for i, k := range counts {
		diff[k.SKU], skus[i] = int64(k.Units)-expected[k.SKU], k.SKU
	}
	if err := l.addDifference(ctx, tx, b, c.Cabinet, c.ID, "counted", diff); err != nil {
		return err
	}
	for _, k := range counts {
		if err := keepCount(ctx, tx, c, k, b.now); err != nil {
			return err
		}
	}
	if err := settleDebts(ctx, tx, c.Cabinet, skus, b.now); err != nil {
		return err
	}
	return l.countSilent(ctx, tx, c, skus, b.now)
}

// keepCount makes c the SKU's latest count. Its cabinet's row is held.
func keepCount(ctx context.Context, tx *sql.Tx, c Count, k wire.Count, now int64) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM trade_count WHERE cabinet_id = ? AND epoch = ? AND sku_id = ?", c.Cabinet, c.Epoch, k.SKU)
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO trade_count (cabinet_id, epoch, sku_id, upto, seq, units, fact_id, counted_at) VALUES (?,?,?,?,?,?,?,?)",
			c.Cabinet, c.Epoch, k.SKU, c.Upto, c.Seq, k.Units, c.ID, now)
	}
	if err != nil {
		return fmt.Errorf("keep count: %w", err)
	}
	return nil
}

// addInside adds what is promised and still in its slot: holds, and the lines of
// open commands that the cabinet has said nothing of.
func (l *Ledger) addInside(ctx context.Context, tx *sql.Tx, cabinet string, now int64, to map[string]int64) error {
	err := sumUnits(ctx, tx, to, `SELECT l.sku_id, SUM(l.qty) FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
		WHERE o.cabinet_id = ? AND o.changed_at >= ? AND o.status = 'PRE_RESERVED' GROUP BY l.sku_id`, cabinet, now-markAge)
	if err == nil {
		err = sumUnits(ctx, tx, to, `SELECT l.sku_id, SUM(l.qty) FROM trade_command c JOIN trade_order_line l ON l.order_sn = c.order_sn
			LEFT JOIN trade_line_report r ON r.order_sn = l.order_sn AND r.sku_id = l.sku_id
			WHERE c.cabinet_id = ? AND c.status IN ('open', 'reported') AND r.order_sn IS NULL GROUP BY l.sku_id`, cabinet)
	}
	if err != nil {
		return fmt.Errorf("read what is promised: %w", err)
	}
	return nil
}

// undoLater takes out of the expectation what booked facts from after the count
// have done. Of a line, that is what dropped, at the place of its first report.
func undoLater(ctx context.Context, tx *sql.Tx, c Count, expected map[string]int64) error {
	err := sumUnits(ctx, tx, expected, `SELECT l.sku_id, SUM(CASE f.kind WHEN 'SALE' THEN l.qty ELSE -l.qty END) FROM trade_fact f
		JOIN trade_fact_line l ON l.fact_id = f.fact_id WHERE f.cabinet_id = ? AND f.epoch = ? AND f.seq > ? AND f.fact_id <> ? GROUP BY l.sku_id`,
		c.Cabinet, c.Epoch, c.Upto, c.ID)
	if err == nil {
		err = sumUnits(ctx, tx, expected, `SELECT l.sku_id, SUM(CASE r.result WHEN 'unknown' THEN l.qty ELSE r.units END) FROM trade_fact f
			JOIN trade_line_report r ON r.fact_id = f.fact_id JOIN trade_order_line l ON l.order_sn = r.order_sn AND l.sku_id = r.sku_id
			WHERE f.cabinet_id = ? AND f.epoch = ? AND f.seq > ? AND r.result IN ('dispensed', 'failed', 'unknown') GROUP BY l.sku_id`,
			c.Cabinet, c.Epoch, c.Upto)
	}
	if err != nil {
		return fmt.Errorf("read later facts: %w", err)
	}
	return nil
}

// countSilent takes lines for gone of which nothing was ever heard, now that
// somebody has counted: their time is over, and what did not drop was found.
func (l *Ledger) countSilent(ctx context.Context, tx *sql.Tx, c Count, skus []string, now int64) error {
	rows, err := tx.QueryContext(ctx, `SELECT c.command_id, l.order_sn, l.sku_id FROM trade_command c JOIN trade_order_line l ON l.order_sn = c.order_sn
		LEFT JOIN trade_line_report r ON r.order_sn = l.order_sn AND r.sku_id = l.sku_id
		WHERE c.cabinet_id = ? AND c.status = 'abandoned' AND r.order_sn IS NULL AND l.sku_id IN (`+marks(len(skus))+`)`,
		append([]any{c.Cabinet}, anys(skus)...)...)
	if err != nil {
		return fmt.Errorf("read silent lines: %w", err)
	}
	defer rows.Close()
	var args []any
	for rows.Next() {
		var command, id, sku string
		if err := rows.Scan(&command, &id, &sku); err != nil {
			return fmt.Errorf("read silent lines: %w", err)
		}
		args = append(args, id, sku, command, reportCounted, 0, c.ID, now)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read silent lines: %w", err)
	}
	rows.Close()
	if err := insertRows(ctx, tx, insertReport, reportCols, args, ""); err != nil {
		return fmt.Errorf("write line reports: %w", err)
	}
	return nil
}

// absorb undoes what a fact does to the number of units there, for those SKUs
// that a count from after it has already found.
func (l *Ledger) absorb(ctx context.Context, tx *sql.Tx, b *rowSet, f Fact, known counts) error {
	per, _ := statement.EffectOf(f.State)
	undo := skuUnits{}
	for _, w := range f.Lines {
		if known.cover(f.Cabinet, f.Epoch, w.SKU, f.Seq) {
			undo[w.SKU] = -per.Available * int64(w.Qty)
		}
	}
	return l.addDifference(ctx, tx, b, f.Cabinet, f.ID, "counted before it came", undo)
}

type countKey struct{ cabinet, epoch, sku string }

type countMark struct{ upto, seq int64 }

// counts are the latest counts by SKU.
type counts map[countKey]countMark

// cover reports whether what happened at seq was found by a count.
func (k counts) cover(cabinet, epoch, sku string, seq int64) bool {
	m, ok := k[countKey{cabinet, epoch, sku}]
	return ok && epoch != "" && seq <= m.upto
}

// counted reads the latest counts at the cabinets and epochs of facts.
func (l *Ledger) counted(ctx context.Context, tx *sql.Tx, fs ...*factItem) (counts, error) {
	cabinets, epochs := map[string]bool{}, map[string]bool{}
	for _, f := range fs {
		if f.Epoch != "" {
			cabinets[f.Cabinet], epochs[f.Epoch] = true, true
		}
	}
	out := counts{}
	if len(cabinets) == 0 {
		return out, nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT cabinet_id, epoch, sku_id, upto, seq FROM trade_count WHERE cabinet_id IN ("+marks(len(cabinets))+") AND epoch IN ("+marks(len(epochs))+")",
		append(anys(sortedKeys(cabinets)), anys(sortedKeys(epochs))...)...)
	if err != nil {
		return nil, fmt.Errorf("read counts: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var k countKey
		var m countMark
		if err := rows.Scan(&k.cabinet, &k.epoch, &k.sku, &m.upto, &m.seq); err != nil {
			return nil, fmt.Errorf("read counts: %w", err)
		}
		out[k] = m
	}
	return out, rows.Err()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// sumUnits adds a query's (SKU, units) to a sum.
func sumUnits(ctx context.Context, q querier, to map[string]int64, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var sku string
		var n int64
		if err := rows.Scan(&sku, &n); err != nil {
			return err
		}
		to[sku] += n
	}
	return rows.Err()
}
