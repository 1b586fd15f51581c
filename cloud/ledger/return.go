package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/shared/money"
)

const selectReturn = "SELECT refund_id, payment_id, order_sn, sku_id, amount, currency, status, reason, attempts, last_error, created_at, changed_at FROM trade_refund"

// ReturnSurplus decides that late money goes back; see payment.Returns.
//
// Promise: the refund's row stands in the late row's place. Dies before the
// commit: the late row comes again and decides anew. Dies after it: the refund's
// row is carried out by whoever claims it.
func (l *Ledger) ReturnSurplus(ctx context.Context, id, reason, row string) error {
	p, err := l.Payment(ctx, id)
	if err != nil {
		return err
	}
	err = l.underLock(ctx, p.Order, func(tx *sql.Tx, o order.Order) ([]outbox.Row, error) {
		now, err := onePayment(ctx, tx, " WHERE payment_id = ?", id)
		if err != nil {
			return nil, err
		}
		b := l.newRows(l.now())
		if now.Status == payment.StatusSurplus {
			if o.Status == order.PreReserved {
				return nil, payment.ErrMoved
			}
			if err := l.addRefund(ctx, tx, b, refund{payment: id, order: o, amount: now.Amount, reason: reason}); err != nil {
				return nil, err
			}
		}
		if err := deleteMsgs(ctx, tx, row); err != nil {
			return nil, err
		}
		rows := b.rows()
		return rows, l.insertMsgs(ctx, tx, rows)
	})
	if err != nil {
		return fmt.Errorf("ledger: return payment %s: %w", id, err)
	}
	return nil
}

// Return returns a refund, or payment.ErrUnknown.
func (l *Ledger) Return(ctx context.Context, id string) (payment.Return, error) {
	return oneReturn(ctx, l.read, id)
}

// FinishReturn books that the provider has given the money back: the movement,
// the refund's state, the line's, and the row's end, in one transaction.
//
// Dies before the commit: the provider is asked again under the same id, and
// says that it is done. Done twice is done once.
func (l *Ledger) FinishReturn(ctx context.Context, id, row string) error {
	return l.settleReturn(ctx, id, func(tx *sql.Tx, r payment.Return, o order.Order) ([]outbox.Row, error) {
		if r.Status != payment.ReturnDone {
			if err := l.giveBack(ctx, tx, r); err != nil {
				return nil, err
			}
		}
		return nil, deleteMsgs(ctx, tx, row)
	})
}

func (l *Ledger) giveBack(ctx context.Context, tx *sql.Tx, r payment.Return) error {
	r.Status, r.LastError, r.Attempts = payment.ReturnDone, "", r.Attempts+1
	if err := l.setReturn(ctx, tx, r); err != nil {
		return err
	}
	if err := addMovement(ctx, tx, r.Order, money.Movement{Kind: money.Refunded, Ref: r.ID, Money: r.Amount}, l.now()); err != nil {
		return err
	}
	if err := l.note(ctx, tx, r.Order, l.now(), returnEntry(r, r.Reason)); err != nil {
		return err
	}
	return refundLines(ctx, tx, r)
}

// refundLines marks what was paid back: the refund's line, or of a payment that
// paid for its order all lines that did not come out.
func refundLines(ctx context.Context, tx *sql.Tx, r payment.Return) error {
	where, args := " AND sku_id = ?", []any{r.Order, r.SKU}
	if r.SKU == "" {
		p, err := onePayment(ctx, tx, " WHERE payment_id = ?", r.Payment)
		if err != nil || p.Status != payment.StatusPaid {
			return err
		}
		where, args = "", args[:1]
	}
	_, err := tx.ExecContext(ctx, "UPDATE trade_order_line SET state = 'refunded' WHERE order_sn = ?"+where+" AND state <> 'dispensed'", args...)
	if err != nil {
		return fmt.Errorf("write line states: %w", err)
	}
	return nil
}

// FailReturn counts an attempt that did not give the money back; see
// payment.Returns. A case that a person had closed is open again.
func (l *Ledger) FailReturn(ctx context.Context, id, row, reason string, final bool) (stuck bool, err error) {
	err = l.settleReturn(ctx, id, func(tx *sql.Tx, r payment.Return, o order.Order) ([]outbox.Row, error) {
		stuck = false
		if r.Status != payment.ReturnPending {
			return nil, deleteMsgs(ctx, tx, row)
		}
		r.Attempts, r.LastError = r.Attempts+1, short(reason)
		stuck = final || r.Attempts >= payment.MaxAttempts
		if !stuck {
			return nil, l.setReturn(ctx, tx, r)
		}
		r.Status = payment.ReturnStuck
		if err := l.setReturn(ctx, tx, r); err != nil {
			return nil, err
		}
		if err := l.note(ctx, tx, r.Order, l.now(), returnEntry(r, r.LastError)); err != nil {
			return nil, err
		}
		c := order.Case{Kind: order.CaseRefundStuck, Subject: r.ID, Order: r.Order, Cabinet: o.Cabinet, Detail: r.LastError}
		if err := l.openCase(ctx, tx, c, l.now()); err != nil {
			return nil, err
		}
		_, err := tx.ExecContext(ctx, "UPDATE trade_case SET status = 'open', changed_at = ? WHERE kind = ? AND subject = ? AND status <> 'open'", l.now(), string(c.Kind), c.Subject)
		if err != nil {
			return nil, fmt.Errorf("open case again: %w", err)
		}
		return nil, deleteMsgs(ctx, tx, row)
	})
	return stuck, err
}

// RetryRefund lets an operator try a refund that is stuck once more, from the
// first attempt. One that is not stuck is left alone.
func (l *Ledger) RetryRefund(ctx context.Context, id string) error {
	return l.settleReturn(ctx, id, func(tx *sql.Tx, r payment.Return, o order.Order) ([]outbox.Row, error) {
		if r.Status != payment.ReturnStuck {
			return nil, nil
		}
		r.Status, r.Attempts = payment.ReturnPending, 0
		if err := l.setReturn(ctx, tx, r); err != nil {
			return nil, err
		}
		b := l.newRows(l.now())
		b.add(outbox.KindRefund, o.Cabinet, r.ID, QuickLease)
		if err := l.note(ctx, tx, r.Order, b.now, returnEntry(r, "tried again by an operator")); err != nil {
			return nil, err
		}
		rows := b.rows()
		return rows, l.insertMsgs(ctx, tx, rows)
	})
}

func returnEntry(r payment.Return, cause string) order.Entry {
	return order.Entry{Kind: order.EntryRefund, State: string(r.Status), SKU: r.SKU, Ref: r.ID, Amount: r.Amount.Minor, Currency: r.Amount.Currency, Cause: cause}
}

// settleReturn runs fn on a refund under its order's row lock.
func (l *Ledger) settleReturn(ctx context.Context, id string, fn func(tx *sql.Tx, r payment.Return, o order.Order) ([]outbox.Row, error)) error {
	r, err := l.Return(ctx, id)
	if err != nil {
		return err
	}
	err = l.underLock(ctx, r.Order, func(tx *sql.Tx, o order.Order) ([]outbox.Row, error) {
		now, err := oneReturn(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		return fn(tx, now, o)
	})
	if err != nil {
		return fmt.Errorf("ledger: refund %s: %w", id, err)
	}
	return nil
}

func (l *Ledger) setReturn(ctx context.Context, tx *sql.Tx, r payment.Return) error {
	_, err := tx.ExecContext(ctx, "UPDATE trade_refund SET status = ?, attempts = ?, last_error = ?, changed_at = ? WHERE refund_id = ?",
		string(r.Status), r.Attempts, r.LastError, l.now(), r.ID)
	if err != nil {
		return fmt.Errorf("update refund: %w", err)
	}
	return nil
}

func oneReturn(ctx context.Context, q querier, id string) (payment.Return, error) {
	found, err := returns(ctx, q, selectReturn+" WHERE refund_id = ?", id)
	if err != nil {
		return payment.Return{}, fmt.Errorf("ledger: find refund: %w", err)
	}
	if len(found) == 0 {
		return payment.Return{}, payment.ErrUnknown
	}
	return found[0], nil
}

func returns(ctx context.Context, q querier, query string, args ...any) ([]payment.Return, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []payment.Return
	for rows.Next() {
		var r payment.Return
		var created, changed int64
		if err := rows.Scan(&r.ID, &r.Payment, &r.Order, &r.SKU, &r.Amount.Minor, &r.Amount.Currency, &r.Status, &r.Reason, &r.Attempts, &r.LastError, &created, &changed); err != nil {
			return nil, err
		}
		r.CreatedAt, r.ChangedAt = ms(created), ms(changed)
		out = append(out, r)
	}
	return out, rows.Err()
}
