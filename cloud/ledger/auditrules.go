package ledger

// auditRule is a question whose every answer is a difference: subject, order,
// cabinet, detail. {day} is since when orders are compared.
type auditRule struct{ name, query string }

// nobodyCarries is the end of a condition: no outbox row and no open dead letter
// of the kind names the id. An outbox row's payload is the id alone.
func nobodyCarries(id, kind string) string {
	return id + " NOT IN (SELECT CAST(payload AS CHAR(36)) FROM local_msg WHERE kind = '" + kind + "')" +
		" AND " + id + " NOT IN (SELECT CAST(payload AS CHAR(36)) FROM dead_letter WHERE source = '" + kind + "' AND state = 'open')"
}

// auditRules each are one statement, so each sees one instant.
func auditRules() []auditRule {
	const (
		logged = `SELECT cabinet_id, sku_id, SUM(CASE status WHEN 'PRE_RESERVED' THEN qty ELSE 0 END) AS locked,
			SUM(CASE status WHEN 'CONSUMED' THEN qty WHEN 'SALE' THEN qty WHEN 'RETURN' THEN -qty ELSE 0 END) AS sold
			FROM trade_stock_deduct_log GROUP BY cabinet_id, sku_id`
		stock = ` FROM trade_sku_stock s LEFT JOIN (` + logged + `) g ON g.cabinet_id = s.cabinet_id AND g.sku_id = s.sku_id `
		paid  = ` FROM trade_order_line l JOIN trade_payment p ON p.order_sn = l.order_sn AND p.status = 'paid'
			JOIN trade_command c ON c.order_sn = l.order_sn LEFT JOIN trade_refund b ON b.payment_id = p.payment_id AND b.sku_id = l.sku_id `
	)
	return []auditRule{
		{"stock_sum", `SELECT s.cabinet_id, s.sku_id, '', s.cabinet_id, s.total, s.available, s.locked, s.sold FROM trade_sku_stock s
			WHERE s.total <> s.available + s.locked + s.sold OR s.available < 0 OR s.locked < 0 OR s.sold < 0`},
		{"stock_locked", `SELECT s.cabinet_id, s.sku_id, '', s.cabinet_id, s.locked, COALESCE(g.locked, 0), 0, 0` + stock + `WHERE s.locked <> COALESCE(g.locked, 0)`},
		{"stock_sold", `SELECT s.cabinet_id, s.sku_id, '', s.cabinet_id, s.sold, COALESCE(g.sold, 0), 0, 0` + stock + `WHERE s.sold <> COALESCE(g.sold, 0) AND (s.sold < COALESCE(g.sold, 0) OR {whole} = 1)`},
		{"log_of_nobody", `SELECT g.order_sn, g.sku_id, '', g.cabinet_id, g.qty, 0, 0, 0 FROM trade_stock_deduct_log g LEFT JOIN trade_order o ON o.order_sn = g.order_sn
			LEFT JOIN trade_fact f ON f.fact_id = g.order_sn WHERE g.changed_at >= {day} AND o.order_sn IS NULL AND f.fact_id IS NULL`},
		{"captured_unbooked", `SELECT p.payment_id, '', p.order_sn, '', p.amount, COALESCE(m.amount, 0), 0, 0 FROM trade_payment p
			LEFT JOIN money_movement m ON m.order_sn = p.order_sn AND m.kind = 'captured' AND m.ref = p.payment_id
			WHERE p.status IN ('paid', 'surplus') AND (m.ref IS NULL OR m.amount <> p.amount OR m.currency <> p.currency)`},
		{"captured_of_nothing", `SELECT m.ref, '', m.order_sn, '', m.amount, 0, 0, 0 FROM money_movement m
			LEFT JOIN trade_payment p ON p.payment_id = m.ref AND p.status IN ('paid', 'surplus') WHERE m.kind = 'captured' AND p.payment_id IS NULL`},
		{"refund_unbooked", `SELECT r.refund_id, '', r.order_sn, '', r.amount, COALESCE(m.amount, 0), 0, 0 FROM trade_refund r
			LEFT JOIN money_movement m ON m.order_sn = r.order_sn AND m.kind = 'refunded' AND m.ref = r.refund_id
			WHERE r.status = 'done' AND (m.ref IS NULL OR m.amount <> r.amount OR m.currency <> r.currency)`},
		{"refund_of_nothing", `SELECT m.ref, '', m.order_sn, '', m.amount, 0, 0, 0 FROM money_movement m
			LEFT JOIN trade_refund r ON r.refund_id = m.ref AND r.status = 'done' WHERE m.kind = 'refunded' AND r.refund_id IS NULL`},
		{"paid_unconsumed", `SELECT p.payment_id, '', p.order_sn, o.cabinet_id, p.amount, 0, 0, 0 FROM trade_payment p JOIN trade_order o ON o.order_sn = p.order_sn
			WHERE p.status = 'paid' AND o.status <> 'CONSUMED'`},
		{"paid_twice", `SELECT p.order_sn, '', p.order_sn, '', COUNT(*), 0, 0, 0 FROM trade_payment p WHERE p.status = 'paid' GROUP BY p.order_sn HAVING COUNT(*) > 1`},
		{"paid_otherwise", `SELECT p.payment_id, '', p.order_sn, '', MIN(p.amount), SUM(l.price * l.qty), 0, 0 FROM trade_payment p JOIN trade_order_line l ON l.order_sn = p.order_sn
			WHERE p.status = 'paid' GROUP BY p.payment_id, p.order_sn HAVING MIN(p.amount) <> SUM(l.price * l.qty)`},
		{"refunded_beyond", `SELECT p.payment_id, '', p.order_sn, '', MIN(p.amount), SUM(r.amount), 0, 0 FROM trade_payment p JOIN trade_refund r ON r.payment_id = p.payment_id
			GROUP BY p.payment_id, p.order_sn HAVING SUM(r.amount) > MIN(p.amount)`},
		{"refund_of_no_money", `SELECT r.refund_id, '', r.order_sn, '', r.amount, 0, 0, 0 FROM trade_refund r JOIN trade_payment p ON p.payment_id = r.payment_id
			WHERE p.status NOT IN ('paid', 'surplus')`},
		{"surplus_silent", `SELECT p.payment_id, '', p.order_sn, '', p.amount, 0, 0, 0 FROM trade_payment p WHERE p.status = 'surplus'
			AND p.payment_id NOT IN (SELECT payment_id FROM trade_refund WHERE sku_id = '') AND ` + nobodyCarries("p.payment_id", "late")},
		{"payment_silent", `SELECT p.payment_id, '', p.order_sn, '', p.amount, 0, 0, 0 FROM trade_payment p WHERE p.status = 'open' AND ` + nobodyCarries("p.payment_id", "check")},
		{"refund_silent", `SELECT r.refund_id, '', r.order_sn, '', r.amount, 0, 0, 0 FROM trade_refund r WHERE r.status = 'pending' AND ` + nobodyCarries("r.refund_id", "refund")},
		{"line_dropped_beyond", `SELECT l.order_sn, l.sku_id, l.order_sn, '', l.dropped, l.qty, 0, 0 FROM trade_order_line l
			WHERE l.dropped < 0 OR l.dropped > l.qty OR l.state = 'dispensed' AND l.dropped <> l.qty`},
		{"line_unpaid_back", `SELECT l.order_sn, l.sku_id, l.order_sn, c.cabinet_id, l.price * (l.qty - l.dropped), COALESCE(b.amount, 0), 0, 0` + paid + `
			WHERE (c.status IN ('withdrawn', 'abandoned') OR c.status = 'done' AND l.state <> 'dispensed' OR l.state = 'failed')
			AND l.dropped < l.qty AND COALESCE(b.amount, 0) < l.price * (l.qty - l.dropped)`},
		{"line_paid_back_beyond", `SELECT l.order_sn, l.sku_id, l.order_sn, c.cabinet_id, l.price * (l.qty - l.dropped), COALESCE(b.amount, 0), 0, 0` + paid + `
			WHERE COALESCE(b.amount, 0) > l.price * (l.qty - l.dropped) AND l.order_sn NOT IN (SELECT order_sn FROM trade_case WHERE kind = 'vended_refunded')`},
	}
}

// auditWords are a rule's answer in words; the numbers are its last columns.
var auditWords = map[string]string{
	"stock_sum":             "total %d is not available %d + locked %d + sold %d",
	"stock_locked":          "locked is %d, the deduct log says %d",
	"stock_sold":            "sold is %d, the deduct log says %d",
	"log_of_nobody":         "the deduct log has %d units for an id that is no order and no fact",
	"captured_unbooked":     "%d came in, %d of it is booked",
	"captured_of_nothing":   "%d is booked as captured, by no payment that has come in",
	"refund_unbooked":       "%d went back, %d of it is booked",
	"refund_of_nothing":     "%d is booked as refunded, by no refund that is done",
	"paid_unconsumed":       "%d pays for an order that is not consumed",
	"paid_twice":            "%d payments pay for one order",
	"paid_otherwise":        "%d was paid, the lines cost %d",
	"refunded_beyond":       "%d came in, %d goes back",
	"refund_of_no_money":    "%d goes back that never came in",
	"surplus_silent":        "%d came too late, and nobody decides about it",
	"payment_silent":        "%d may be paid, and nobody asks the provider",
	"refund_silent":         "%d is to go back, and nobody carries it out",
	"line_dropped_beyond":   "%d dropped, of %d ordered",
	"line_unpaid_back":      "%d is owed for what did not drop, %d goes back",
	"line_paid_back_beyond": "%d is owed for what did not drop, %d goes back, and nobody looks",
}
