package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/shared/money"
)

// refund is money that is to go back.
type refund struct {
	payment string
	order   order.Order
	sku     string // empty: the whole payment
	amount  money.Money
	reason  string
}

// addRefund decides a refund, in the transaction that makes it due, under the
// order's row lock. The same line of the same payment is refunded once: a second
// decision changes nothing. Refunds of a payment never exceed what it brought:
// of one that would, the rest is refunded.
func (l *Ledger) addRefund(ctx context.Context, tx *sql.Tx, b *rowSet, r refund) error {
	left, err := refundable(ctx, tx, r.payment)
	if err != nil {
		return err
	}
	if r.amount.Minor = min(r.amount.Minor, left); r.amount.Minor <= 0 {
		return nil
	}
	id := l.opt.ID()
	r.reason = r.reason[:min(len(r.reason), 64)]
	res, err := tx.ExecContext(ctx, l.dialect.insertNew+`trade_refund (refund_id, payment_id, order_sn, sku_id, amount, currency, status, reason, attempts, last_error, created_at, changed_at)
		VALUES (?,?,?,?,?,?,'pending',?,0,'',?,?)`, id, r.payment, r.order.ID, r.sku, r.amount.Minor, r.amount.Currency, r.reason, b.now, b.now)
	if err != nil {
		return fmt.Errorf("write refund: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	b.add(outbox.KindRefund, r.order.Cabinet, id, QuickLease)
	return l.note(ctx, tx, r.order.ID, b.now, order.Entry{Kind: order.EntryRefund, State: "pending", SKU: r.sku, Ref: id,
		Amount: r.amount.Minor, Currency: r.amount.Currency, Cause: r.reason})
}

// refundable is what is left of a payment's captured amount, less what is on
// its way back or there: done, pending and stuck alike.
func refundable(ctx context.Context, tx *sql.Tx, id string) (int64, error) {
	p, err := onePayment(ctx, tx, " WHERE payment_id = ?", id)
	if err != nil {
		return 0, fmt.Errorf("refund of payment %q: %w", id, err)
	}
	if !p.Captured() {
		return 0, fmt.Errorf("refund of payment %s: it is %s", id, p.Status)
	}
	var back int64
	if err := tx.QueryRowContext(ctx, "SELECT COALESCE(SUM(amount), 0) FROM trade_refund WHERE payment_id = ?", id).Scan(&back); err != nil {
		return 0, fmt.Errorf("sum refunds: %w", err)
	}
	return p.Amount.Minor - back, nil
}
