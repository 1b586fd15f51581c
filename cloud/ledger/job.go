package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Job is what one process of the fleet does at its time.
type Job struct {
	Name   string
	Due    time.Time // when it is due again
	Ended  time.Time // zero if it never did
	Report []byte    // of the last time, as whoever did it wrote it; empty if none
}

// TakeJob says whether a job is due and, if so, makes it this caller's: it is due
// again at next. Of many processes one takes it. Dies after that: the job was not
// done this time, and is again at next.
//
// All look every few seconds, so a look at a job that is not due writes nothing.
func (l *Ledger) TakeJob(ctx context.Context, name string, next time.Time) (mine bool, err error) {
	j, err := l.FindJob(ctx, name)
	if err != nil || j.Due.UnixMilli() > l.now() {
		return false, err
	}
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		mine = false
		res, err := tx.ExecContext(ctx, l.dialect.insertNew+"fleet_job (name, due_at, ended_at, report) VALUES (?,?,0,'')", name, next.UnixMilli())
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err == nil && n == 0 {
			if res, err = tx.ExecContext(ctx, "UPDATE fleet_job SET due_at = ? WHERE name = ? AND due_at <= ?", next.UnixMilli(), name, l.now()); err == nil {
				n, err = res.RowsAffected()
			}
		}
		mine = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("ledger: take job %s: %w", name, err)
	}
	return mine, nil
}

// EndJob keeps a job's report.
func (l *Ledger) EndJob(ctx context.Context, name string, report []byte) error {
	_, err := l.db.ExecContext(ctx, "UPDATE fleet_job SET ended_at = ?, report = ? WHERE name = ?", l.now(), string(report), name)
	if err != nil {
		return fmt.Errorf("ledger: end job %s: %w", name, err)
	}
	return nil
}

// FindJob returns a job; one that nobody ever took is all zero but for its name.
func (l *Ledger) FindJob(ctx context.Context, name string) (Job, error) {
	j := Job{Name: name}
	var due, ended int64
	err := l.read.QueryRowContext(ctx, "SELECT due_at, ended_at, report FROM fleet_job WHERE name = ?", name).Scan(&due, &ended, &j.Report)
	if errors.Is(err, sql.ErrNoRows) {
		return j, nil
	}
	if err != nil {
		return j, fmt.Errorf("ledger: find job %s: %w", name, err)
	}
	j.Due = ms(due)
	if ended > 0 {
		j.Ended = ms(ended)
	}
	return j, nil
}
