package ledger

import (
	"context"
	"database/sql"

	"vendline/cloud/outbox"
	"vendline/cloud/statement"
)

// applySplit replaces a message's row by two with half its statements each, so
// that the bad one ends up alone, and none is ever without a row.
func (l *Ledger) applySplit(ctx context.Context, m statement.Message) (statement.Applied, error) {
	mid := len(m.Statements) / 2
	halves := []statement.Message{
		{Row: l.opt.ID(), Attempt: m.Attempt, Statements: m.Statements[:mid]},
		{Row: l.opt.ID(), Attempt: m.Attempt, Statements: m.Statements[mid:]},
	}
	split := false
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		split = false
		ages, err := l.rowAges(ctx, tx, []statement.Message{m})
		if err != nil || len(ages) == 0 {
			return err
		}
		split = true
		var rows []outbox.Row
		for _, h := range halves {
			rows = append(rows, l.stockRow(h, ages[m.Row], l.now()+StockLease.Milliseconds()))
		}
		if err := l.insertMsgs(ctx, tx, rows); err != nil {
			return err
		}
		return deleteMsgs(ctx, tx, m.Row)
	})
	if err != nil || !split {
		return statement.Applied{}, err
	}
	return l.applyParts(ctx, halves[:1], halves[1:])
}

// applyFailed books one statement's failed attempt: later again, or buried.
func (l *Ledger) applyFailed(ctx context.Context, m statement.Message, cause error) (statement.Applied, error) {
	m.Attempt++
	if m.FirstError == "" {
		m.FirstError = cause.Error()
	}
	var a statement.Applied
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		a = statement.Applied{}
		ages, err := l.rowAges(ctx, tx, []statement.Message{m})
		if err != nil || len(ages) == 0 {
			return err
		}
		if err := deleteMsgs(ctx, tx, m.Row); err != nil {
			return err
		}
		if m.Attempt > outbox.StatementRetries.Attempts {
			a.Dead = len(m.Statements)
			return l.bury(ctx, tx, letterOf(l, m, cause.Error(), ages[m.Row]))
		}
		next := m
		next.Row = l.opt.ID()
		row := l.stockRow(next, ages[m.Row], l.now()+outbox.StatementRetries.After(m.Attempt).Milliseconds())
		row.Attempts = m.Attempt
		if err := l.insertMsgs(ctx, tx, []outbox.Row{row}); err != nil {
			return err
		}
		return noteMsgs(ctx, tx, cause.Error(), row.ID)
	})
	if err == nil {
		l.opt.Log.Warn("statement failed", "id", idOf(m), "attempt", m.Attempt, "dead", a.Dead > 0, "error", cause)
	}
	return a, err
}

// buryImpossible makes dead letters, once: a row that is gone was dealt with
// when its message came before.
func (l *Ledger) buryImpossible(ctx context.Context, tx *sql.Tx, bad []impossible, ages map[string]int64) (n int, err error) {
	for _, b := range bad {
		created, ok := ages[b.message.Row]
		if !ok {
			continue
		}
		if err := l.bury(ctx, tx, letterOf(l, b.message, b.why.Error(), created)); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func idOf(m statement.Message) string {
	if len(m.Statements) == 0 {
		return ""
	}
	return m.Statements[0].ID
}
