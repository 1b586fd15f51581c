package ledgertest

import "maps"

// Invariants checks, by SQL and from nothing but the tables, what must hold at
// any moment: of each stock row, of each line in the deduct log, and that the
// ledger's own answer of what can be sold is the truth.
func (f *Fixture) Invariants() {
	f.t.Helper()
	if n := f.count(`SELECT COUNT(*) FROM trade_sku_stock
		WHERE total <> available + locked + sold OR total < 0 OR available < 0 OR locked < 0 OR sold < 0`); n != 0 {
		f.t.Errorf("%d stock rows do not add up", n)
	}
	for c, opening := range f.opening {
		f.logExplainsStock(c, opening)
		f.sellableIsTheTruth(c, opening)
	}
	if n := f.count("SELECT COUNT(*) FROM local_msg WHERE kind = 'stock'") + f.count("SELECT COUNT(*) FROM dead_letter WHERE source = 'stock'"); n == 0 {
		f.logKnowsEveryOrder()
	}
}

// logExplainsStock: opening stock and the distinct log rows in force give
// exactly what the stock rows say.
func (f *Fixture) logExplainsStock(c string, opening map[string]int64) {
	f.t.Helper()
	want := f.sum(opening, `SELECT sku_id, SUM(CASE status WHEN 'PRE_RESERVED' THEN -qty WHEN 'CONSUMED' THEN -qty WHEN 'SALE' THEN -qty
		WHEN 'RESTOCK' THEN qty WHEN 'DRIFT' THEN qty ELSE 0 END) FROM trade_stock_deduct_log WHERE cabinet_id = ? GROUP BY sku_id`, c)
	if got := f.sum(nil, "SELECT sku_id, available FROM trade_sku_stock WHERE cabinet_id = ?", c); !sameUnits(got, want) {
		f.t.Errorf("%s: available is %v, the deduct log says %v", c, got, want)
	}
	want = f.sum(nil, "SELECT sku_id, SUM(CASE status WHEN 'PRE_RESERVED' THEN qty ELSE 0 END) FROM trade_stock_deduct_log WHERE cabinet_id = ? GROUP BY sku_id", c)
	if got := f.sum(nil, "SELECT sku_id, locked FROM trade_sku_stock WHERE cabinet_id = ?", c); !sameUnits(got, want) {
		f.t.Errorf("%s: locked is %v, the deduct log says %v", c, got, want)
	}
}

// sellableIsTheTruth: opening stock, all facts and all orders in force, however
// little of it the deduct log has seen.
func (f *Fixture) sellableIsTheTruth(c string, opening map[string]int64) {
	f.t.Helper()
	want := f.sum(opening, `SELECT l.sku_id, -SUM(l.qty) FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
		WHERE o.cabinet_id = ? AND o.status IN ('PRE_RESERVED', 'CONSUMED') GROUP BY l.sku_id`, c)
	want = f.sum(want, `SELECT l.sku_id, SUM(CASE f.kind WHEN 'SALE' THEN -l.qty ELSE l.qty END) FROM trade_fact f
		JOIN trade_fact_line l ON l.fact_id = f.fact_id WHERE f.cabinet_id = ? GROUP BY l.sku_id`, c)
	got, err := f.Sellable(f.ctx, c)
	f.ok(err)
	if !sameUnits(got, want) {
		f.t.Errorf("%s: sellable is %v, the truth is %v", c, got, want)
	}
}

// logKnowsEveryOrder: with no statement waiting, the log agrees with each order.
func (f *Fixture) logKnowsEveryOrder() {
	f.t.Helper()
	if n := f.count(`SELECT COUNT(*) FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
		LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.order_sn AND g.sku_id = l.sku_id
		WHERE g.order_sn IS NULL OR g.status <> o.status OR g.version <> o.version OR g.qty <> l.qty`); n != 0 {
		f.t.Errorf("the deduct log is wrong about %d order lines", n)
	}
	if n := f.count(`SELECT COUNT(*) FROM trade_fact_line l LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.fact_id AND g.sku_id = l.sku_id
		WHERE g.order_sn IS NULL OR g.qty <> l.qty`); n != 0 {
		f.t.Errorf("the deduct log does not know %d fact lines", n)
	}
}

// sum adds a query's (SKU, units) to a copy of from.
func (f *Fixture) sum(from map[string]int64, query string, args ...any) map[string]int64 {
	f.t.Helper()
	out := maps.Clone(from)
	if out == nil {
		out = map[string]int64{}
	}
	rows, err := f.DB.QueryContext(f.ctx, query, args...)
	f.ok(err)
	defer rows.Close()
	for rows.Next() {
		var sku string
		var n int64
		f.ok(rows.Scan(&sku, &n))
		out[sku] += n
	}
	f.ok(rows.Err())
	return out
}

// sameUnits compares two stocks; a SKU with no units and none at all are equal.
func sameUnits(a, b map[string]int64) bool {
	for sku, n := range a {
		if b[sku] != n {
			return false
		}
	}
	for sku, n := range b {
		if a[sku] != n {
			return false
		}
	}
	return true
}
