package ledgertest

import (
	"context"
	"database/sql"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

// AuditMoney checks, by SQL and from nothing but the tables, that money is never
// silent: all that was captured pays for its order, or is on its way back, or
// somebody is about to decide. It returns what is wrong, in words.
func AuditMoney(ctx context.Context, db *sql.DB) ([]string, error) {
	a := audit{ctx: ctx, db: db}
	a.movementsMatch()
	a.paidOnce()
	a.nothingSilent()
	a.sumsAddUp()
	return a.wrong, a.err
}

// movementsMatch: a movement for each payment that is here and each refund that
// is done, and no others.
func (a *audit) movementsMatch() {
	a.none("captured payments have no movement of their amount", `SELECT COUNT(*) FROM trade_payment p
		LEFT JOIN money_movement m ON m.order_sn = p.order_sn AND m.kind = 'captured' AND m.ref = p.payment_id AND m.amount = p.amount AND m.currency = p.currency
		WHERE p.status IN ('paid', 'surplus') AND m.ref IS NULL`)
	a.none("captured movements are of no captured payment", `SELECT COUNT(*) FROM money_movement m
		LEFT JOIN trade_payment p ON p.payment_id = m.ref AND p.status IN ('paid', 'surplus') WHERE m.kind = 'captured' AND p.payment_id IS NULL`)
	a.none("done refunds have no movement of their amount", `SELECT COUNT(*) FROM trade_refund r
		LEFT JOIN money_movement m ON m.order_sn = r.order_sn AND m.kind = 'refunded' AND m.ref = r.refund_id AND m.amount = r.amount
		WHERE r.status = 'done' AND m.ref IS NULL`)
	a.none("refunded movements are of no done refund", `SELECT COUNT(*) FROM money_movement m
		LEFT JOIN trade_refund r ON r.refund_id = m.ref AND r.status = 'done' WHERE m.kind = 'refunded' AND r.refund_id IS NULL`)
}

// paidOnce: an order is paid by one payment, of the value of its lines, and no
// payment brings back more than it brought.
func (a *audit) paidOnce() {
	a.none("payments pay for an order that is not consumed", `SELECT COUNT(*) FROM trade_payment p JOIN trade_order o ON o.order_sn = p.order_sn
		WHERE p.status = 'paid' AND o.status <> 'CONSUMED'`)
	a.none("orders are paid more than once", `SELECT COUNT(*) FROM (SELECT order_sn FROM trade_payment WHERE status = 'paid' GROUP BY order_sn HAVING COUNT(*) > 1) x`)
	a.none("paid orders cost something else than their lines", `SELECT COUNT(*) FROM trade_payment p WHERE p.status = 'paid'
		AND p.amount <> (SELECT SUM(l.price * l.qty) FROM trade_order_line l WHERE l.order_sn = p.order_sn)`)
	a.none("payments bring back more than they brought", `SELECT COUNT(*) FROM trade_payment p
		WHERE p.amount < (SELECT COALESCE(SUM(r.amount), 0) FROM trade_refund r WHERE r.payment_id = p.payment_id)`)
	a.none("refunds are of money that is not here", `SELECT COUNT(*) FROM trade_refund r JOIN trade_payment p ON p.payment_id = r.payment_id
		WHERE p.status NOT IN ('paid', 'surplus')`)
}

// nothingSilent: whatever is not at its end has an outbox row, or a case.
func (a *audit) nothingSilent() {
	late, check, refund := a.payloads("late"), a.payloads("check"), a.payloads("refund")
	for id, status := range a.texts("SELECT payment_id, status FROM trade_payment WHERE status = 'surplus' AND payment_id NOT IN (SELECT payment_id FROM trade_refund WHERE sku_id = '')") {
		if !late[id] {
			a.say("payment %s is %s, and nobody decides", id, status)
		}
	}
	for id := range a.texts("SELECT payment_id, status FROM trade_payment WHERE status = 'open'") {
		if !check[id] {
			a.say("payment %s is open, and nobody asks", id)
		}
	}
	for id := range a.texts("SELECT refund_id, status FROM trade_refund WHERE status = 'pending'") {
		if !refund[id] {
			a.say("refund %s is pending, and nobody carries it out", id)
		}
	}
	a.none("stuck refunds have no case", `SELECT COUNT(*) FROM trade_refund r LEFT JOIN trade_case c ON c.kind = 'refund_stuck' AND c.subject = r.refund_id
		WHERE r.status = 'stuck' AND c.case_id IS NULL`)
	if n := a.count("SELECT COUNT(*) FROM payment_notice WHERE outcome = ''"); n != a.count("SELECT COUNT(*) FROM local_msg WHERE kind = 'notice'") {
		a.say("%d callbacks are not settled, and have not as many rows", n)
	}
}

// sumsAddUp: the movements of each order are a ledger.
func (a *audit) sumsAddUp() {
	all := map[string][]money.Movement{}
	a.each("SELECT order_sn, kind, ref, amount, currency FROM money_movement", func(rows *sql.Rows) error {
		var id string
		var m money.Movement
		err := rows.Scan(&id, &m.Kind, &m.Ref, &m.Minor, &m.Currency)
		all[id] = append(all[id], m)
		return err
	})
	owed := map[string]int64{} // on its way back
	a.each("SELECT order_sn, SUM(amount) FROM trade_refund WHERE status <> '"+string(payment.ReturnDone)+"' GROUP BY order_sn", func(rows *sql.Rows) error {
		var id string
		var n int64
		err := rows.Scan(&id, &n)
		owed[id] = n
		return err
	})
	for id, ms := range all {
		sums, err := money.Sum(ms)
		if err != nil {
			a.say("order %s: %v", id, err)
		} else if sums.Kept.Minor < owed[id] {
			a.say("order %s: %d is on its way back, of %s kept", id, owed[id], sums.Kept)
		}
	}
}

func (a *audit) payloads(kind string) map[string]bool {
	out := map[string]bool{}
	a.each("SELECT payload FROM local_msg WHERE kind = '"+kind+"'", func(rows *sql.Rows) error {
		var p []byte
		err := rows.Scan(&p)
		out[string(p)] = true
		return err
	})
	return out
}

func (a *audit) texts(query string) map[string]string {
	out := map[string]string{}
	a.each(query, func(rows *sql.Rows) error {
		var k, v string
		err := rows.Scan(&k, &v)
		out[k] = v
		return err
	})
	return out
}

func (a *audit) each(query string, scan func(*sql.Rows) error) {
	if a.err != nil {
		return
	}
	rows, err := a.db.QueryContext(a.ctx, query)
	if err != nil {
		a.err = err
		return
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			a.err = err
			return
		}
	}
	a.err = rows.Err()
}
