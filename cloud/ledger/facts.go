package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// Fact is something that physically happened at a cabinet. It is never refused
// for lack of stock.
type Fact struct {
	ID      string // the event's id
	Cabinet string
	State   statement.State // Sale, Restock or Drift
	Epoch   string          // of the cabinet's outbox; empty for facts of ours
	Seq     int64
	Cause   string
	Lines   []wire.Line // merged
}

type factItem struct{ Fact }

// Record makes a fact durable, once per id, with everyone who comes at the same
// time. A second Record of the same fact is nil; of other content under the same
// id, a *order.Refusal.
//
// Promise: when it returns nil, the fact, its lines and the outbox rows that
// tell stock and Redis of it are committed, and the cabinet may forget it. Dies
// before: the cabinet sends it again. Dies after: it is sent again and is here.
func (l *Ledger) Record(ctx context.Context, f Fact) error {
	return l.facts.Do(ctx, &factItem{f})
}

func (l *Ledger) factGroup(ctx context.Context, fs []*factItem) []error {
	errs := make([]error, len(fs))
	l.factSplit(ctx, fs, errs)
	return errs
}

func (l *Ledger) factSplit(ctx context.Context, fs []*factItem, errs []error) {
	tctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var rows []outbox.Row
	var losers []order.Order
	err := l.inTx(tctx, l.dialect.commit, func(tx *sql.Tx) (err error) {
		rows, losers, err = l.factTx(tctx, tx, fs)
		return err
	})
	switch {
	case err == nil:
		l.opt.Feed(rows)
		l.opt.Changed(losers)
	case len(fs) == 1 && duplicate(err):
		errs[0] = l.sameFact(ctx, fs[0].Fact)
	case len(fs) == 1 || transient(err) || ctx.Err() != nil:
		for i := range errs {
			errs[i] = err
		}
	default:
		mid := len(fs) / 2
		l.factSplit(ctx, fs[:mid], errs[:mid])
		l.factSplit(ctx, fs[mid:], errs[mid:])
	}
}

func (l *Ledger) factTx(ctx context.Context, tx *sql.Tx, fs []*factItem) (rows []outbox.Row, losers []order.Order, err error) {
	now := l.now()
	cabinets := map[string]struct{}{}
	for _, f := range fs {
		cabinets[f.Cabinet] = struct{}{}
	}
	lock := "" // a fact counts under any generation: its effect runs later
	if l.opt.Direct {
		lock = l.dialect.forShare
	}
	known, err := l.generations(ctx, tx, cabinets, lock)
	if err != nil {
		return nil, nil, fmt.Errorf("read cabinets: %w", err)
	}
	b := l.newRows(now)
	var direct []statement.Statement
	for _, f := range fs {
		g, ok := known[f.Cabinet]
		if !ok {
			return nil, nil, &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no cabinet " + f.Cabinet}
		}
		if l.opt.Direct {
			if err := l.owns(g); err != nil {
				return nil, nil, err
			}
		}
		st, err := l.addFact(ctx, tx, b, f.Fact, now)
		if err != nil {
			return nil, nil, err
		}
		direct = append(direct, st)
	}
	if l.opt.Direct {
		losers, err := l.applyFacts(ctx, tx, direct, now)
		return nil, losers, err
	}
	rows = b.rows()
	return rows, nil, l.insertMsgs(ctx, tx, rows)
}

// addFact inserts a fact and adds what stock and Redis have to hear of it.
func (l *Ledger) addFact(ctx context.Context, tx *sql.Tx, b *rowSet, f Fact, now int64) (statement.Statement, error) {
	_, err := tx.ExecContext(ctx, "INSERT INTO trade_fact (fact_id, cabinet_id, kind, epoch, seq, cause, created_at) VALUES (?,?,?,?,?,?,?)",
		f.ID, f.Cabinet, string(f.State), f.Epoch, f.Seq, f.Cause, now)
	if err != nil {
		return statement.Statement{}, fmt.Errorf("insert fact: %w", err)
	}
	var args []any
	for _, w := range f.Lines {
		args = append(args, f.ID, w.SKU, w.Qty)
	}
	if err := insertRows(ctx, tx, "INSERT INTO trade_fact_line (fact_id, sku_id, qty)", 3, args, ""); err != nil {
		return statement.Statement{}, fmt.Errorf("insert fact lines: %w", err)
	}
	st, e := factEffects(f.ID, f.Cabinet, f.State, f.Lines)
	b.state(st)
	b.effect(e)
	return st, nil
}

// sameFact answers a fact whose id is here already.
func (l *Ledger) sameFact(ctx context.Context, f Fact) error {
	var cabinet, kind string
	err := l.read.QueryRowContext(ctx, "SELECT cabinet_id, kind FROM trade_fact WHERE fact_id = ?", f.ID).Scan(&cabinet, &kind)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("ledger: fact %s is neither new nor here", f.ID)
	}
	if err != nil {
		return fmt.Errorf("ledger: find fact: %w", err)
	}
	same := cabinet == f.Cabinet && kind == string(f.State)
	rows, err := l.read.QueryContext(ctx, "SELECT sku_id, qty FROM trade_fact_line WHERE fact_id = ? ORDER BY sku_id", f.ID)
	if err != nil {
		return fmt.Errorf("ledger: find fact: %w", err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var w wire.Line
		if err := rows.Scan(&w.SKU, &w.Qty); err != nil {
			return fmt.Errorf("ledger: find fact: %w", err)
		}
		same = same && n < len(f.Lines) && f.Lines[n] == w
		n++
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("ledger: find fact: %w", err)
	}
	if !same || n != len(f.Lines) {
		return &order.Refusal{Code: wire.CodeIdempotencyConflict, Detail: "another fact has this id; the first one stands"}
	}
	return nil
}
