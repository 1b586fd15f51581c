package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"vendline/cloud/order"
)

// ErrNoCase is returned for a case that does not exist.
var ErrNoCase = errors.New("ledger: no such case")

const selectCase = "SELECT case_id, kind, subject, order_sn, cabinet_id, detail, status, note, created_at, changed_at FROM trade_case"

// openCase calls a person, in the transaction that makes it necessary. A case
// that is there already, open or closed, stands.
func (l *Ledger) openCase(ctx context.Context, tx *sql.Tx, c order.Case, now int64) error {
	res, err := tx.ExecContext(ctx, l.dialect.insertNew+`trade_case (case_id, kind, subject, order_sn, cabinet_id, detail, status, note, created_at, changed_at)
		VALUES (?,?,?,?,?,?,'open','',?,?)`, l.opt.ID(), string(c.Kind), c.Subject, c.Order, c.Cabinet, short(c.Detail), now, now)
	if err != nil {
		return fmt.Errorf("open case: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 || c.Order == "" {
		return err
	}
	return l.note(ctx, tx, c.Order, now, order.Entry{Kind: order.EntryCase, State: string(c.Kind), Ref: c.Subject, Cause: c.Detail})
}

// OpenCase is openCase on its own.
func (l *Ledger) OpenCase(ctx context.Context, c order.Case) error {
	return l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error { return l.openCase(ctx, tx, c, l.now()) })
}

// Cases returns up to n cases, open ones unless closed is set, newest first.
func (l *Ledger) Cases(ctx context.Context, closed bool, n int) ([]order.Case, error) {
	status := "open"
	if closed {
		status = "closed"
	}
	rows, err := l.read.QueryContext(ctx, selectCase+" WHERE status = ? ORDER BY created_at DESC, case_id DESC LIMIT "+itoa(n), status)
	if err != nil {
		return nil, fmt.Errorf("ledger: list cases: %w", err)
	}
	defer rows.Close()
	var out []order.Case
	for rows.Next() {
		var c order.Case
		var status string
		var created, changed int64
		if err := rows.Scan(&c.ID, &c.Kind, &c.Subject, &c.Order, &c.Cabinet, &c.Detail, &status, &c.Note, &created, &changed); err != nil {
			return nil, fmt.Errorf("ledger: list cases: %w", err)
		}
		c.Closed, c.CreatedAt, c.ChangedAt = status == "closed", ms(created), ms(changed)
		out = append(out, c)
	}
	return out, rows.Err()
}

// CloseCase closes a case with a note. Closing twice keeps the first note.
func (l *Ledger) CloseCase(ctx context.Context, id, note string) error {
	res, err := l.db.ExecContext(ctx, "UPDATE trade_case SET status = 'closed', note = ?, changed_at = ? WHERE case_id = ? AND status = 'open'", short(note), l.now(), id)
	if err != nil {
		return fmt.Errorf("ledger: close case: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	var there int
	if err := l.read.QueryRowContext(ctx, "SELECT COUNT(*) FROM trade_case WHERE case_id = ?", id).Scan(&there); err != nil || there > 0 {
		return err
	}
	return ErrNoCase
}

// short cuts a text for people to its column.
func short(s string) string { return strings.ToValidUTF8(s[:min(len(s), 255)], "") }

// CountCases is how many cases are open.
func (l *Ledger) CountCases(ctx context.Context) (n int64, err error) {
	if err := l.read.QueryRowContext(ctx, "SELECT COUNT(*) FROM trade_case WHERE status = 'open'").Scan(&n); err != nil {
		return 0, fmt.Errorf("ledger: count cases: %w", err)
	}
	return n, nil
}
