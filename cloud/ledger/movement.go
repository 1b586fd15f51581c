package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

// addMovement books one movement of an order's money, in the transaction that makes it
// true. The primary key is why none happens twice.
func addMovement(ctx context.Context, tx *sql.Tx, id string, m money.Movement, now int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO money_movement (order_sn, kind, ref, amount, currency, at) VALUES (?,?,?,?,?,?)",
		id, string(m.Kind), m.Ref, m.Minor, m.Currency, now)
	if err != nil {
		return fmt.Errorf("book movement: %w", err)
	}
	return nil
}

// Money returns the movements of an order's money, oldest first.
func (l *Ledger) Money(ctx context.Context, id string) ([]money.Movement, error) {
	return movements(ctx, l.read, id)
}

func movements(ctx context.Context, q querier, id string) ([]money.Movement, error) {
	rows, err := q.QueryContext(ctx, "SELECT kind, ref, amount, currency FROM money_movement WHERE order_sn = ? ORDER BY at, ref", id)
	if err != nil {
		return nil, fmt.Errorf("ledger: read movements: %w", err)
	}
	defer rows.Close()
	var out []money.Movement
	for rows.Next() {
		var m money.Movement
		if err := rows.Scan(&m.Kind, &m.Ref, &m.Minor, &m.Currency); err != nil {
			return nil, fmt.Errorf("ledger: read movements: %w", err)
		}
		out = append(out, m)
	}
	return out, rows.Err()
}

// Account returns all that is known of an order's money, as of one instant.
func (l *Ledger) Account(ctx context.Context, id string) (a payment.Account, err error) {
	err = l.again(ctx, func() error {
		tx, err := l.read.BeginTx(ctx, &sql.TxOptions{Isolation: l.dialect.snapshot, ReadOnly: l.dialect.name == "mysql"})
		if err != nil {
			return fmt.Errorf("ledger: read account: %w", err)
		}
		defer func() { _ = tx.Rollback() }()
		if a.Payments, err = payments(ctx, tx, selectPayment+" WHERE order_sn = ? ORDER BY created_at, payment_id", id); err != nil {
			return fmt.Errorf("ledger: read account: %w", err)
		}
		if len(a.Payments) == 0 {
			return nil
		}
		if a.Returns, err = returns(ctx, tx, selectReturn+" WHERE order_sn = ? ORDER BY created_at, refund_id", id); err != nil {
			return fmt.Errorf("ledger: read account: %w", err)
		}
		a.Movements, err = movements(ctx, tx, id)
		return err
	})
	return a, err
}
