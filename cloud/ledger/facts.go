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
	State   statement.State // Sale, Restock or Drift; or one of the kinds below, which have no lines
	Epoch   string          // of the cabinet's outbox; empty for facts of ours
	Seq     int64
	Cause   string
	Lines   []wire.Line // merged
	Body    []byte      // all that the cabinet said, for kinds that are more than lines
}

// Kinds of facts that say more than units of lines, or move no stock at all.
const (
	Stocktake statement.State = "STOCKTAKE"
	Dispense  statement.State = "DISPENSE"
	SlotFault statement.State = "SLOT_FAULT"
	Door      statement.State = "DOOR"
	Planogram statement.State = "PLANOGRAM"
)

type factItem struct{ Fact }

// Record makes a fact durable, once per id, with everyone who comes at the same
// time. A second Record of the same fact is nil; of other content under the same
// id, a *order.Refusal. A fact that a booked count has found already (see
// RecordCount) is recorded, and its units are booked back beside it.
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
	case len(fs) == 1 && errors.Is(err, errRecorded):
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

func (l *Ledger) factTx(ctx context.Context, tx *sql.Tx, fs []*factItem) ([]outbox.Row, []order.Order, error) {
	now := l.now()
	cabinets := map[string]struct{}{}
	for _, f := range fs {
		cabinets[f.Cabinet] = struct{}{}
	}
	// Shared: a fact counts under any generation, its effect runs later; but no
	// count may be taken at its cabinet between what it reads and its commit.
	known, err := l.generations(ctx, tx, cabinets, l.dialect.forShare)
	if err != nil {
		return nil, nil, fmt.Errorf("read cabinets: %w", err)
	}
	b := l.newRows(now)
	for _, f := range fs {
		g, ok := known[f.Cabinet]
		if !ok {
			return nil, nil, noCabinet(f.Cabinet)
		}
		if l.opt.Direct {
			if err := l.owns(g); err != nil {
				return nil, nil, err
			}
		}
	}
	counted, err := l.counted(ctx, tx, fs...)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range fs {
		if err := l.addFact(ctx, tx, b, f.Fact); err != nil {
			return nil, nil, err
		}
		if err := l.absorb(ctx, tx, b, f.Fact, counted); err != nil {
			return nil, nil, err
		}
		if f.State == statement.Restock {
			if err := l.restocked(ctx, tx, b, f.Fact, counted); err != nil {
				return nil, nil, err
			}
		}
	}
	return l.hand(ctx, tx, b)
}

// hand turns what a transaction decided about facts into outbox rows, or in the
// synchronous mode into stock, here and now. Returned are the rows for the
// runners, and the orders that lost.
func (l *Ledger) hand(ctx context.Context, tx *sql.Tx, b *rowSet) (rows []outbox.Row, losers []order.Order, err error) {
	if l.opt.Direct {
		if losers, err = l.applyFacts(ctx, tx, b); err != nil {
			return nil, nil, err
		}
	}
	rows = b.rows()
	return rows, losers, l.insertMsgs(ctx, tx, rows)
}

func noCabinet(cabinet string) error {
	return &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no cabinet " + cabinet}
}
