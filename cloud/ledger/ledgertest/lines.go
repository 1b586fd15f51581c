package ledgertest

import (
	"context"
	"database/sql"
)

// AuditLines checks, by SQL and from nothing but the tables, that no paid line
// is forgotten: somebody waits for its cabinet's word, or its units and its
// money are where they belong. It returns what is wrong, in words.
func AuditLines(ctx context.Context, db *sql.DB) ([]string, error) {
	a := audit{ctx: ctx, db: db}
	a.none("orders in another state than CONSUMED were dispensed, or told to be", `SELECT COUNT(*) FROM trade_order o WHERE o.status <> 'CONSUMED'
		AND (o.order_sn IN (SELECT order_sn FROM trade_command) OR o.order_sn IN (SELECT order_sn FROM trade_order_line WHERE dropped > 0))`)
	a.none("lines dropped more than was ordered", "SELECT COUNT(*) FROM trade_order_line WHERE dropped < 0 OR dropped > qty OR state = 'dispensed' AND dropped <> qty")
	a.none("lines are being dispensed by no command", `SELECT COUNT(*) FROM trade_order_line l WHERE l.state = 'dispensing'
		AND l.order_sn NOT IN (SELECT order_sn FROM trade_command WHERE status IN ('open', 'reported'))`)
	a.none("commands that are not done are waited for by nobody", `SELECT COUNT(*) FROM trade_command c WHERE c.status IN ('open', 'reported')
		AND c.command_id NOT IN (SELECT id FROM local_msg WHERE kind = 'command')`)
	a.none("commands that are done have lines without a last word", `SELECT COUNT(*) FROM trade_command c JOIN trade_order_line l ON l.order_sn = c.order_sn
		LEFT JOIN trade_line_report r ON r.order_sn = l.order_sn AND r.sku_id = l.sku_id WHERE c.status IN ('done', 'withdrawn') AND r.result IS NULL`)
	a.unitsReturn()
	a.paidBack()
	return a.wrong, a.err
}

// unitsReturn: what was sold and did not drop is in stock again, once.
func (a *audit) unitsReturn() {
	want := a.sum(nil, `SELECT r.sku_id, SUM(l.qty - r.units) FROM trade_line_report r
		JOIN trade_order_line l ON l.order_sn = r.order_sn AND l.sku_id = r.sku_id
		WHERE r.result IN ('failed', 'expired', 'withdrawn') GROUP BY r.sku_id`)
	got := a.sum(nil, `SELECT l.sku_id, SUM(CASE f.kind WHEN 'RETURN' THEN l.qty ELSE -l.qty END) FROM trade_fact f
		JOIN trade_fact_line l ON l.fact_id = f.fact_id WHERE f.kind = 'RETURN' AND f.cause = 'not dispensed'
		OR f.kind = 'LOSS' AND f.cause = 'dispensed after its return' GROUP BY l.sku_id`)
	if !Same(got, want) {
		a.say("returned are %v, not dropped are %v", got, want)
	}
}

// paidBack: of a line that is over, the units that did not drop are refunded, to
// whoever paid for them; and of one that dropped nothing is, but by a case.
func (a *audit) paidBack() {
	const paid = `trade_order_line l JOIN trade_payment p ON p.order_sn = l.order_sn AND p.status = 'paid' JOIN trade_command c ON c.order_sn = l.order_sn
		LEFT JOIN trade_refund b ON b.payment_id = p.payment_id AND b.sku_id = l.sku_id`
	a.none("lines did not drop and are not refunded", `SELECT COUNT(*) FROM `+paid+`
		WHERE (c.status IN ('withdrawn', 'abandoned') OR c.status = 'done' AND l.state <> 'dispensed' OR l.state = 'failed')
		AND l.dropped < l.qty AND COALESCE(b.amount, 0) < l.price * (l.qty - l.dropped)`)
	a.none("lines dropped and are refunded, and nobody looks", `SELECT COUNT(*) FROM `+paid+`
		WHERE COALESCE(b.amount, 0) > l.price * (l.qty - l.dropped)
		AND l.order_sn NOT IN (SELECT order_sn FROM trade_case WHERE kind = 'vended_refunded')`)
}
