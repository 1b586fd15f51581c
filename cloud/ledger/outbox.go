package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"vendline/cloud/outbox"
)

// Claim leases up to n due rows of kind; see outbox.Store. It counts an attempt.
func (l *Ledger) Claim(ctx context.Context, kind outbox.Kind, n int, lease func(attempts int) time.Duration) ([]outbox.Row, error) {
	var out []outbox.Row
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		out = nil
		now := l.now()
		rows, err := tx.QueryContext(ctx, "SELECT id, shard, payload, attempts, created_at FROM local_msg WHERE kind = ? AND due_at <= ? ORDER BY due_at LIMIT "+
			itoa(n)+l.dialect.skipLocked, string(kind), now)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r := outbox.Row{Kind: kind}
			var created int64
			if err := rows.Scan(&r.ID, &r.Shard, &r.Payload, &r.Attempts, &created); err != nil {
				return err
			}
			r.Attempts++
			r.CreatedAt, r.DueAt = ms(created), ms(now).Add(lease(r.Attempts))
			out = append(out, r)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for _, r := range out {
			if _, err := tx.ExecContext(ctx, "UPDATE local_msg SET attempts = ?, due_at = ? WHERE id = ?", r.Attempts, r.DueAt.UnixMilli(), r.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: claim %s rows: %w", kind, err)
	}
	return out, nil
}

// Delete removes rows that are carried out. One statement is its own
// transaction; run again after a lost connection, it finds nothing left to do.
func (l *Ledger) Delete(ctx context.Context, ids ...string) error {
	return l.again(ctx, func() error { return deleteMsgs(ctx, l.db, ids...) })
}

// Backlog reports every kind's depth and the age of its oldest row.
func (l *Ledger) Backlog(ctx context.Context) ([]outbox.Stat, error) {
	stats := make([]outbox.Stat, len(outbox.Kinds))
	for i, k := range outbox.Kinds {
		var n int64
		var oldest sql.NullInt64
		err := l.read.QueryRowContext(ctx, "SELECT COUNT(*), MIN(created_at) FROM local_msg WHERE kind = ?", string(k)).Scan(&n, &oldest)
		if err != nil {
			return nil, fmt.Errorf("ledger: read backlog: %w", err)
		}
		stats[i] = outbox.Stat{Kind: k, Depth: n}
		if oldest.Valid {
			stats[i].Oldest = max(0, time.Duration(l.now()-oldest.Int64)*time.Millisecond)
		}
	}
	return stats, nil
}
