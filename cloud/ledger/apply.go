package ledger

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"vendline/cloud/statement"
	"vendline/shared/wire"
)

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
func (l *Ledger) Apply(ctx context.Context, msgs []statement.Message) (statement.Applied, error) {
	a, err := l.applyOnce(ctx, msgs)
	switch {
	case err == nil:
		l.counters.StockCommits.Add(1)
		l.counters.Statements.Add(int64(len(a.Known) + len(a.Waiting)))
		return a, nil
	case transient(err) || ctx.Err() != nil:
		return statement.Applied{}, err
	case len(msgs) > 1:
		return l.applyParts(ctx, msgs[:len(msgs)/2], msgs[len(msgs)/2:])
	case len(msgs[0].Statements) > 1:
		return l.applySplit(ctx, msgs[0])
	default:
		return l.applyFailed(ctx, msgs[0], err)
	}
}

func (l *Ledger) applyParts(ctx context.Context, parts ...[]statement.Message) (statement.Applied, error) {
	var all statement.Applied
	for _, p := range parts {
		a, err := l.Apply(ctx, p)
		if err != nil {
			return statement.Applied{}, err
		}
		all.Known = append(all.Known, a.Known...)
		all.Waiting = append(all.Waiting, a.Waiting...)
		all.Dead += a.Dead
	}
	return all, nil
}

// applyOnce is the transaction of a batch: the short way if all of it is new,
// and the general way when that turns out to be wrong.
func (l *Ledger) applyOnce(ctx context.Context, msgs []statement.Message) (a statement.Applied, err error) {
	fresh := true
	apply := func(tx *sql.Tx) (err error) {
		a, err = l.applyBatch(ctx, tx, msgs, &fresh)
		return err
	}
	if err = l.inTx(ctx, l.dialect.commit, apply); errors.Is(err, errNotFresh) {
		err = l.inTx(ctx, l.dialect.commit, apply)
	}
	return a, err
}

func (l *Ledger) applyBatch(ctx context.Context, tx *sql.Tx, msgs []statement.Message, fresh *bool) (a statement.Applied, err error) {
	good, bad := possible(msgs)
	latest := newest(good)
	rest, err := l.applyLatest(ctx, tx, latest, fresh)
	if err != nil {
		return a, err
	}
	a.Known, a.Waiting = sortOut(latest, rest)
	if len(bad) > 0 || len(a.Waiting) > 0 {
		ages, err := l.rowAges(ctx, tx, msgs)
		if err != nil {
			return a, err
		}
		if a.Dead, err = l.buryImpossible(ctx, tx, bad, ages); err != nil {
			return a, err
		}
		if err := l.wait(ctx, tx, msgs, a.Waiting, ages); err != nil {
			return a, err
		}
	}
	rows := make([]string, len(msgs))
	for i, m := range msgs {
		rows[i] = m.Row
	}
	return a, deleteMsgs(ctx, tx, rows...)
}

// impossible is a statement that no retry can make possible.
type impossible struct {
	message statement.Message // with this statement alone
	why     error
}

// possible parts the statements that may be applied from those that never can.
func possible(msgs []statement.Message) (good []statement.Statement, bad []impossible) {
	for _, m := range msgs {
		for _, s := range m.Statements {
			if why := s.Check(); why != nil {
				one := m
				one.Statements = []statement.Statement{s}
				one.Attempt++
				bad = append(bad, impossible{one, why})
				continue
			}
			good = append(good, s)
		}
	}
	return good, bad
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
