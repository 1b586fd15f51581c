package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// MaxAttempts is how often a statement that fails on its own is tried before it
// becomes a dead letter. A database that is away costs no attempt.
const MaxAttempts = 16

// Applied says what became of a batch.
type Applied struct {
	Known   []statement.Statement // the deduct log knows all their lines: settle them in Redis
	Waiting []statement.Statement // lines that had to wait: their SKU is short until a release comes
	Dead    int                   // statements buried as dead letters
}

// Apply is step 8: it brings stock to what the statements say.
//
// Promise: when it returns nil, every statement of msgs is in the deduct log
// and in the stock rows, or in an outbox row that will try again, or a dead
// letter, and the outbox rows that carried msgs are gone: all in one
// transaction, after which the queue may forget them. Dies before the commit:
// nothing moved, the queue delivers again. Dies after it and before the queue's
// ack: the queue delivers again, and the log says that nothing is left to do.
//
// It returns an error only when the database stayed away until ctx ended.
func (l *Ledger) Apply(ctx context.Context, msgs []statement.Message) (Applied, error) {
	a, err := l.applyOnce(ctx, msgs)
	switch {
	case err == nil:
		l.counters.StockCommits.Add(1)
		l.counters.Statements.Add(int64(len(a.Known) + len(a.Waiting)))
		return a, nil
	case transient(err) || ctx.Err() != nil:
		return Applied{}, err
	case len(msgs) > 1:
		return l.applyParts(ctx, msgs[:len(msgs)/2], msgs[len(msgs)/2:])
	case len(msgs[0].Statements) > 1:
		return l.applySplit(ctx, msgs[0])
	default:
		return l.applyFailed(ctx, msgs[0], err)
	}
}

func (l *Ledger) applyParts(ctx context.Context, parts ...[]statement.Message) (Applied, error) {
	var all Applied
	for _, p := range parts {
		a, err := l.Apply(ctx, p)
		if err != nil {
			return Applied{}, err
		}
		all.Known = append(all.Known, a.Known...)
		all.Waiting = append(all.Waiting, a.Waiting...)
		all.Dead += a.Dead
	}
	return all, nil
}

// applySplit replaces a message's row by two with half its statements each, so
// that the bad one ends up alone, and none is ever without a row.
func (l *Ledger) applySplit(ctx context.Context, m statement.Message) (Applied, error) {
	mid := len(m.Statements) / 2
	halves := []statement.Message{
		{Row: l.opt.ID(), Attempt: m.Attempt, Statements: m.Statements[:mid]},
		{Row: l.opt.ID(), Attempt: m.Attempt, Statements: m.Statements[mid:]},
	}
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		created, err := l.rowAge(ctx, tx, m.Row)
		if err != nil {
			return err
		}
		var rows []outbox.Row
		for _, h := range halves {
			rows = append(rows, l.stockRow(h, created, l.now()+StockLease.Milliseconds()))
		}
		if err := l.insertMsgs(ctx, tx, rows); err != nil {
			return err
		}
		return deleteMsgs(ctx, tx, m.Row)
	})
	if err != nil {
		return Applied{}, err
	}
	return l.applyParts(ctx, halves[:1], halves[1:])
}

// applyFailed books one statement's failed attempt: later again, or buried.
func (l *Ledger) applyFailed(ctx context.Context, m statement.Message, cause error) (Applied, error) {
	m.Attempt++
	if m.FirstError == "" {
		m.FirstError = cause.Error()
	}
	var a Applied
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		a = Applied{}
		created, err := l.rowAge(ctx, tx, m.Row)
		if err != nil {
			return err
		}
		if err := deleteMsgs(ctx, tx, m.Row); err != nil {
			return err
		}
		if m.Attempt >= MaxAttempts {
			a.Dead = len(m.Statements)
			return l.bury(ctx, tx, letterOf(l, m, cause.Error(), created))
		}
		next := m
		next.Row = l.opt.ID()
		return l.insertMsgs(ctx, tx, []outbox.Row{l.stockRow(next, created, l.now()+retryDelay(m.Attempt).Milliseconds())})
	})
	if err == nil {
		l.opt.Log.Warn("statement failed", "id", idOf(m), "attempt", m.Attempt, "dead", a.Dead > 0, "error", cause)
	}
	return a, err
}

// retryDelay grows from 1 s, doubling, to 10 min.
func retryDelay(attempt int) time.Duration {
	return min(time.Second<<min(attempt, 10), 10*time.Minute)
}

func idOf(m statement.Message) string {
	if len(m.Statements) == 0 {
		return ""
	}
	return m.Statements[0].ID
}

// applyOnce is the transaction of a batch.
func (l *Ledger) applyOnce(ctx context.Context, msgs []statement.Message) (a Applied, err error) {
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		a = Applied{}
		good, err := l.buryImpossible(ctx, tx, msgs, &a)
		if err != nil {
			return err
		}
		latest := newest(good)
		rest, err := l.applyTx(ctx, tx, latest)
		if err != nil {
			return err
		}
		a.Known, a.Waiting = sortOut(latest, rest)
		if err := l.wait(ctx, tx, msgs, a.Waiting); err != nil {
			return err
		}
		rows := make([]string, len(msgs))
		for i, m := range msgs {
			rows[i] = m.Row
		}
		return deleteMsgs(ctx, tx, rows...)
	})
	return a, err
}

// buryImpossible takes out what no retry can make possible.
func (l *Ledger) buryImpossible(ctx context.Context, tx *sql.Tx, msgs []statement.Message, a *Applied) ([]statement.Statement, error) {
	var good []statement.Statement
	for _, m := range msgs {
		for _, s := range m.Statements {
			bad := s.Check()
			if bad == nil {
				good = append(good, s)
				continue
			}
			a.Dead++
			one := statement.Message{Row: m.Row, Attempt: m.Attempt + 1, Statements: []statement.Statement{s}}
			if err := l.bury(ctx, tx, letterOf(l, one, bad.Error(), l.now())); err != nil {
				return nil, err
			}
		}
	}
	return good, nil
}

// newest keeps the highest version of each id, in order of arrival.
func newest(sts []statement.Statement) []statement.Statement {
	at := make(map[string]int, len(sts))
	out := sts[:0:0]
	for _, s := range sts {
		i, ok := at[s.ID]
		switch {
		case !ok:
			at[s.ID] = len(out)
			out = append(out, s)
		case s.Version > out[i].Version:
			out[i] = s
		}
	}
	return out
}

// sortOut splits statements into those wholly known and the lines that wait.
func sortOut(sts []statement.Statement, rest map[lineKey]bool) (known, waiting []statement.Statement) {
	if len(rest) == 0 {
		return sts, nil
	}
	for _, s := range sts {
		lines := slices.DeleteFunc(slices.Clone(s.Lines), func(w wire.Line) bool { return !rest[lineKey{s.ID, w.SKU}] })
		if len(lines) == 0 {
			known = append(known, s)
			continue
		}
		s.Lines = lines
		waiting = append(waiting, s)
	}
	return known, waiting
}

// wait puts lines that could not be applied yet back into the outbox, as old as
// the message they came in, so that the watermark does not pass them.
func (l *Ledger) wait(ctx context.Context, tx *sql.Tx, msgs []statement.Message, waiting []statement.Statement) error {
	if len(waiting) == 0 {
		return nil
	}
	created := l.now()
	for _, m := range msgs {
		at, err := l.rowAge(ctx, tx, m.Row)
		if err != nil {
			return err
		}
		created = min(created, at)
	}
	byShard := map[int]statement.Message{}
	for _, s := range waiting {
		k := l.Shard(s.Cabinet)
		m := byShard[k]
		m.Statements = append(m.Statements, s)
		byShard[k] = m
	}
	for _, m := range byShard {
		m.Row = l.opt.ID()
		if err := l.insertMsgs(ctx, tx, []outbox.Row{l.stockRow(m, created, l.now()+shortDelay.Milliseconds())}); err != nil {
			return err
		}
	}
	return nil
}

// shortDelay is how long a short SKU's statements wait for a release.
const shortDelay = time.Second

func (l *Ledger) stockRow(m statement.Message, created, due int64) outbox.Row {
	shard := 0
	if len(m.Statements) > 0 {
		shard = l.Shard(m.Statements[0].Cabinet)
	}
	return outbox.Row{ID: m.Row, Kind: outbox.KindStock, Shard: shard, Payload: m.Encode(), CreatedAt: ms(created), DueAt: ms(due)}
}

// rowAge is when a message's row was written; now when the row is gone already.
func (l *Ledger) rowAge(ctx context.Context, tx *sql.Tx, row string) (int64, error) {
	var at int64
	err := tx.QueryRowContext(ctx, "SELECT created_at FROM local_msg WHERE id = ?", row).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return l.now(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("read outbox row: %w", err)
	}
	return at, nil
}

func deleteMsgs(ctx context.Context, tx *sql.Tx, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM local_msg WHERE id IN ("+marks(len(ids))+")", anys(ids)...)
	if err != nil {
		return fmt.Errorf("delete outbox rows: %w", err)
	}
	return nil
}
