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
// decision changes nothing.
func (l *Ledger) addRefund(ctx context.Context, tx *sql.Tx, b *rowSet, r refund) error {
	id := l.opt.ID()
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
