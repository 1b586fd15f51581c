package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"vendline/cloud/outbox"
)

// Claim leases up to n due rows of kind; see outbox.Store. It counts an attempt.
func (l *Ledger) Claim(ctx context.Context, kind outbox.Kind, n int, lease func(attempts int) time.Duration) ([]outbox.Row, error) {
	return l.claim(ctx, kind, n, "due_at <= ? ORDER BY due_at", []any{l.now()}, lease)
}

func (l *Ledger) claim(ctx context.Context, kind outbox.Kind, n int, which string, args []any, lease func(attempts int) time.Duration) ([]outbox.Row, error) {
	var out []outbox.Row
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		out = nil
		now := l.now()
		rows, err := tx.QueryContext(ctx, "SELECT id, shard, payload, attempts, created_at FROM local_msg WHERE kind = ? AND "+which+" LIMIT "+
			itoa(n)+l.dialect.skipLocked, append([]any{string(kind)}, args...)...)
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

// Note implements outbox.Noter. It is tried once: the next failure notes again.
func (l *Ledger) Note(ctx context.Context, why string, ids ...string) error {
	return noteMsgs(ctx, l.db, why, ids...)
}

func noteMsgs(ctx context.Context, db execer, why string, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := db.ExecContext(ctx, "UPDATE local_msg SET last_error = ? WHERE id IN ("+marks(len(ids))+")", append([]any{cut(why, 255)}, anys(ids)...)...)
	if err != nil {
		return fmt.Errorf("note why outbox rows wait: %w", err)
	}
	return nil
}

// Backlog reports every kind's depth, the age of its oldest row, and how many
// are stuck.
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
		if s := outbox.ScheduleOf(k); s.Stuck > 0 && n > 0 {
			err := l.read.QueryRowContext(ctx, "SELECT COUNT(*) FROM local_msg WHERE kind = ? AND attempts >= ?", string(k), s.Stuck).Scan(&stats[i].Stuck)
			if err != nil {
				return nil, fmt.Errorf("ledger: read backlog: %w", err)
			}
		}
	}
	return stats, nil
}

// StuckRows returns up to n rows that were claimed as often as their schedule
// calls stuck, the most often claimed first.
func (l *Ledger) StuckRows(ctx context.Context, n int) ([]outbox.Waiting, error) {
	var terms []string
	var args []any
	for _, s := range outbox.Schedules {
		if s.Stuck > 0 {
			terms, args = append(terms, "kind = ? AND attempts >= ?"), append(args, string(s.Kind), s.Stuck)
		}
	}
	rows, err := l.read.QueryContext(ctx, "SELECT id, kind, shard, payload, attempts, created_at, due_at, last_error FROM local_msg WHERE "+
		strings.Join(terms, " OR ")+" ORDER BY attempts DESC, id LIMIT "+itoa(n), args...)
	if err != nil {
		return nil, fmt.Errorf("ledger: read stuck rows: %w", err)
	}
	defer rows.Close()
	var out []outbox.Waiting
	for rows.Next() {
		var w outbox.Waiting
		var created, due int64
		if err := rows.Scan(&w.ID, &w.Kind, &w.Shard, &w.Payload, &w.Attempts, &created, &due, &w.LastError); err != nil {
			return nil, fmt.Errorf("ledger: read stuck rows: %w", err)
		}
		w.CreatedAt, w.DueAt = ms(created), ms(due)
		out = append(out, w)
	}
	return out, rows.Err()
}

// ClaimStalled leases up to n stock rows of shards that nobody has claimed yet and that are
// older than age, whether or not their first lease is over: for a consumer that
// hears nothing from the queue. It counts an attempt, so that the row is not
// claimed this way twice. Dies after it: the row comes with the lease's end.
func (l *Ledger) ClaimStalled(ctx context.Context, n int, shards []int, age, lease time.Duration) ([]outbox.Row, error) {
	which := "attempts = 0 AND created_at <= ? AND shard IN (" + marks(len(shards)) + ") ORDER BY created_at"
	return l.claim(ctx, outbox.KindStock, n, which, append([]any{l.now() - age.Milliseconds()}, anys(shards)...), func(int) time.Duration { return lease })
}
