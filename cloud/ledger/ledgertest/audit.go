package ledgertest

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
)

// Stock is units by SKU.
type Stock = map[string]int64

// Audit checks, by SQL and from nothing but the tables, what must hold at any
// moment: of each stock row, and of each line in the deduct log. opening is
// each cabinet's opening stock. It returns what is wrong, in words.
func Audit(ctx context.Context, db *sql.DB, opening map[string]Stock) ([]string, error) {
	a := audit{ctx: ctx, db: db}
	a.none("stock rows do not add up", `SELECT COUNT(*) FROM trade_sku_stock
		WHERE total <> available + locked + sold OR total < 0 OR available < 0 OR locked < 0 OR sold < 0`)
	for c, stock := range opening {
		a.logExplainsStock(c, stock)
	}
	if a.count("SELECT COUNT(*) FROM local_msg WHERE kind = 'stock'")+a.count("SELECT COUNT(*) FROM dead_letter WHERE source = 'stock' AND state = 'open'") == 0 {
		a.logKnowsEveryOrder()
	}
	if a.err != nil {
		return a.wrong, a.err
	}
	money, err := AuditMoney(ctx, db)
	if err != nil {
		return a.wrong, err
	}
	lines, err := AuditLines(ctx, db)
	return slices.Concat(a.wrong, money, lines), err
}

// Truth is what can be sold at a cabinet: opening stock, all facts and all
// orders in force, however little of it the deduct log has seen.
func Truth(ctx context.Context, db *sql.DB, cabinet string, opening Stock) (Stock, error) {
	a := audit{ctx: ctx, db: db}
	want := a.sum(opening, `SELECT l.sku_id, -SUM(l.qty) FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
		WHERE o.cabinet_id = ? AND o.status IN ('PRE_RESERVED', 'CONSUMED') GROUP BY l.sku_id`, cabinet)
	want = a.sum(want, `SELECT l.sku_id, SUM(CASE WHEN f.kind IN ('SALE', 'LOSS') THEN -l.qty ELSE l.qty END) FROM trade_fact f
		JOIN trade_fact_line l ON l.fact_id = f.fact_id WHERE f.cabinet_id = ? GROUP BY l.sku_id`, cabinet)
	return want, a.err
}

// Same compares two stocks; a SKU with no units and none at all are equal.
func Same(a, b Stock) bool {
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

type audit struct {
	ctx   context.Context
	db    *sql.DB
	wrong []string
	err   error // the first one
}

func (a *audit) say(format string, args ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}

// logExplainsStock: opening stock and the distinct log rows in force give
// exactly what the stock rows say.
func (a *audit) logExplainsStock(cabinet string, opening Stock) {
	want := a.sum(opening, `SELECT sku_id, SUM(CASE status WHEN 'PRE_RESERVED' THEN -qty WHEN 'CONSUMED' THEN -qty WHEN 'SALE' THEN -qty
		WHEN 'LOSS' THEN -qty WHEN 'RESTOCK' THEN qty WHEN 'DRIFT' THEN qty WHEN 'RETURN' THEN qty ELSE 0 END) FROM trade_stock_deduct_log WHERE cabinet_id = ? GROUP BY sku_id`, cabinet)
	if got := a.sum(nil, "SELECT sku_id, available FROM trade_sku_stock WHERE cabinet_id = ?", cabinet); !Same(got, want) {
		a.say("%s: available is %v, the deduct log says %v", cabinet, got, want)
	}
	want = a.sum(nil, "SELECT sku_id, SUM(CASE status WHEN 'PRE_RESERVED' THEN qty ELSE 0 END) FROM trade_stock_deduct_log WHERE cabinet_id = ? GROUP BY sku_id", cabinet)
	if got := a.sum(nil, "SELECT sku_id, locked FROM trade_sku_stock WHERE cabinet_id = ?", cabinet); !Same(got, want) {
		a.say("%s: locked is %v, the deduct log says %v", cabinet, got, want)
	}
}

// logKnowsEveryOrder: with no statement waiting, the log agrees with each order
// and each fact, in every line. It knows nothing of an order that is not placed.
func (a *audit) logKnowsEveryOrder() {
	a.none("order lines stand otherwise in the deduct log", `SELECT COUNT(*) FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
		LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.order_sn AND g.sku_id = l.sku_id
		WHERE g.order_sn IS NULL AND o.status <> 'INIT' OR g.status <> o.status OR g.version <> o.version OR g.qty <> l.qty`)
	a.none("fact lines are not in the deduct log", `SELECT COUNT(*) FROM trade_fact_line l
		LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.fact_id AND g.sku_id = l.sku_id WHERE g.order_sn IS NULL OR g.qty <> l.qty`)
	a.none("lines of the deduct log are nobody's", `SELECT COUNT(*) FROM trade_stock_deduct_log g
		WHERE g.order_sn NOT IN (SELECT order_sn FROM trade_order) AND g.order_sn NOT IN (SELECT fact_id FROM trade_fact)`)
}

func (a *audit) none(what, query string) {
	if n := a.count(query); n != 0 {
		a.say("%d %s", n, what)
	}
}

func (a *audit) count(query string) (n int64) {
	if a.err == nil {
		a.err = a.db.QueryRowContext(a.ctx, query).Scan(&n)
	}
	return n
}

// sum adds a query's (SKU, units) to a copy of from.
func (a *audit) sum(from Stock, query string, args ...any) Stock {
	out := maps.Clone(from)
	if out == nil {
		out = Stock{}
	}
	if a.err != nil {
		return out
	}
	rows, err := a.db.QueryContext(a.ctx, query, args...)
	if err != nil {
		a.err = err
		return out
	}
	defer rows.Close()
	for rows.Next() {
		var sku string
		var n int64
		if err := rows.Scan(&sku, &n); err != nil {
			a.err = err
			return out
		}
		out[sku] += n
	}
	a.err = rows.Err()
	return out
}
