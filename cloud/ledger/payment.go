package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/shared/money"
)

// CheckLease is how long a fresh charge is left alone before its provider is
// asked about it: mostly the callback is faster.
const CheckLease = 15 * time.Second

const selectPayment = "SELECT payment_id, order_sn, provider, trade_no, status, amount, currency, ref, created_at, changed_at FROM trade_payment"

// OpenPayment writes down that an order is to be paid at a provider, before the
// provider hears of it; see payment.Payments.
//
// Promise: no charge is announced that has no row. Dies before the commit:
// nobody knows of a charge. Dies after it: the row's check asks the provider,
// who has never heard of it, until the order ends; the shopper asks again and
// gets the same payment.
func (l *Ledger) OpenPayment(ctx context.Context, id, provider string) (p payment.Payment, o order.Order, err error) {
	err = l.underLock(ctx, id, func(tx *sql.Tx, held order.Order) ([]outbox.Row, error) {
		o = held
		if o.Status != order.PreReserved {
			return nil, &order.StateError{Order: o, Event: order.PaySuccess}
		}
		found, err := payments(ctx, tx, selectPayment+" WHERE order_sn = ? AND provider = ?", id, provider)
		if err != nil || len(found) > 0 {
			if err == nil {
				p = found[0]
			}
			return nil, err
		}
		b := l.newRows(l.now())
		p = payment.Payment{ID: l.opt.ID(), Order: id, Provider: provider, TradeNo: payment.TradeNo(id), Status: payment.StatusOpen,
			Amount: money.Money{Minor: o.Amount, Currency: o.Currency}, CreatedAt: ms(b.now), ChangedAt: ms(b.now)}
		_, err = tx.ExecContext(ctx, `INSERT INTO trade_payment (payment_id, order_sn, provider, trade_no, status, amount, currency, ref, created_at, changed_at)
			VALUES (?,?,?,?,?,?,?,'',?,?)`, p.ID, p.Order, p.Provider, p.TradeNo, string(p.Status), p.Amount.Minor, p.Amount.Currency, b.now, b.now)
		if err != nil {
			return nil, fmt.Errorf("write payment: %w", err)
		}
		if err := addMovement(ctx, tx, id, money.Movement{Kind: money.Authorised, Ref: p.ID, Money: p.Amount}, b.now); err != nil {
			return nil, err
		}
		if err := l.note(ctx, tx, id, b.now, paymentEntry(p, provider)); err != nil {
			return nil, err
		}
		b.add(outbox.KindCheck, o.Cabinet, p.ID, CheckLease)
		// Not handed over from memory: the poll asks when its time has come.
		return nil, l.insertMsgs(ctx, tx, b.rows())
	})
	if err != nil {
		return payment.Payment{}, o, fmt.Errorf("ledger: open payment: %w", err)
	}
	return p, o, nil
}

// ClosePayment writes down that the provider takes no money for it any more.
// Dies before the commit: the provider is asked to close it again, which is
// closing it once.
func (l *Ledger) ClosePayment(ctx context.Context, id string) error {
	return l.settlePayment(ctx, id, func(tx *sql.Tx, p payment.Payment, _ order.Order) error {
		if p.Status != payment.StatusOpen {
			return nil
		}
		p.Status = payment.StatusClosed
		return l.setPayment(ctx, tx, p, "")
	})
}

// DisputePayment calls a person; see payment.Payments.
func (l *Ledger) DisputePayment(ctx context.Context, id, detail string, final bool) error {
	return l.settlePayment(ctx, id, func(tx *sql.Tx, p payment.Payment, o order.Order) error {
		if final && !p.Captured() && p.Status != payment.StatusDisputed {
			p.Status = payment.StatusDisputed
			if err := l.setPayment(ctx, tx, p, detail); err != nil {
				return err
			}
		}
		return l.openCase(ctx, tx, order.Case{Kind: order.CasePaymentMismatch, Subject: p.ID, Order: p.Order, Cabinet: o.Cabinet, Detail: detail}, l.now())
	})
}

// settlePayment runs fn on a payment under its order's row lock.
func (l *Ledger) settlePayment(ctx context.Context, id string, fn func(tx *sql.Tx, p payment.Payment, o order.Order) error) error {
	p, err := l.Payment(ctx, id)
	if err != nil {
		return err
	}
	err = l.underLock(ctx, p.Order, func(tx *sql.Tx, o order.Order) ([]outbox.Row, error) {
		found, err := payments(ctx, tx, selectPayment+" WHERE payment_id = ?", id)
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return nil, fn(tx, found[0], o)
	})
	if err != nil {
		return fmt.Errorf("ledger: payment %s: %w", id, err)
	}
	return nil
}

// underLock runs fn in a transaction that holds the order's row exclusively:
// all that happens to one order's money happens in one line. The rows that fn
// returns are handed over from memory after the commit.
func (l *Ledger) underLock(ctx context.Context, id string, fn func(tx *sql.Tx, o order.Order) ([]outbox.Row, error)) error {
	var rows []outbox.Row
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		rows = nil
		found, err := orders(ctx, tx, selectOrder+" WHERE order_sn = ?"+l.dialect.forUpdate, id)
		if err != nil {
			return fmt.Errorf("lock order: %w", err)
		}
		if len(found) == 0 {
			return order.ErrUnknown
		}
		rows, err = fn(tx, found[0].Order)
		return err
	})
	if err == nil {
		l.opt.Feed(rows)
	}
	return err
}

// setPayment writes a payment's status, with its line of the history.
func (l *Ledger) setPayment(ctx context.Context, tx *sql.Tx, p payment.Payment, cause string) error {
	now := l.now()
	if _, err := tx.ExecContext(ctx, "UPDATE trade_payment SET status = ?, ref = ?, changed_at = ? WHERE payment_id = ?", string(p.Status), p.Ref, now, p.ID); err != nil {
		return fmt.Errorf("update payment: %w", err)
	}
	return l.note(ctx, tx, p.Order, now, paymentEntry(p, cause))
}

func paymentEntry(p payment.Payment, cause string) order.Entry {
	return order.Entry{Kind: order.EntryPayment, State: string(p.Status), Ref: p.ID, Amount: p.Amount.Minor, Currency: p.Amount.Currency, Cause: cause}
}

// Payment returns a payment by its id, or payment.ErrUnknown.
func (l *Ledger) Payment(ctx context.Context, id string) (payment.Payment, error) {
	return onePayment(ctx, l.read, " WHERE payment_id = ?", id)
}

// PaymentOf returns a provider's payment by its trade number, or payment.ErrUnknown.
func (l *Ledger) PaymentOf(ctx context.Context, provider, tradeNo string) (payment.Payment, error) {
	return onePayment(ctx, l.read, " WHERE provider = ? AND trade_no = ?", provider, tradeNo)
}

func onePayment(ctx context.Context, q querier, where string, args ...any) (payment.Payment, error) {
	found, err := payments(ctx, q, selectPayment+where, args...)
	if err != nil {
		return payment.Payment{}, fmt.Errorf("ledger: find payment: %w", err)
	}
	if len(found) == 0 {
		return payment.Payment{}, payment.ErrUnknown
	}
	return found[0], nil
}

// OpenPayments returns the payments of orders that may still be paid.
func (l *Ledger) OpenPayments(ctx context.Context, ids ...string) ([]payment.Payment, error) {
	var all []payment.Payment
	for len(ids) > 0 {
		n := min(len(ids), maxArgs)
		found, err := payments(ctx, l.read, selectPayment+" WHERE order_sn IN ("+marks(n)+") AND status = 'open'", anys(ids[:n])...)
		if err != nil {
			return nil, fmt.Errorf("ledger: find open payments: %w", err)
		}
		all, ids = append(all, found...), ids[n:]
	}
	return all, nil
}

func payments(ctx context.Context, q querier, query string, args ...any) ([]payment.Payment, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []payment.Payment
	for rows.Next() {
		var p payment.Payment
		var created, changed int64
		if err := rows.Scan(&p.ID, &p.Order, &p.Provider, &p.TradeNo, &p.Status, &p.Amount.Minor, &p.Amount.Currency, &p.Ref, &created, &changed); err != nil {
			return nil, err
		}
		p.CreatedAt, p.ChangedAt = ms(created), ms(changed)
		out = append(out, p)
	}
	return out, rows.Err()
}
