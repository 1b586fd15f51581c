package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"vendline/cloud/effect"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// directMark begins the fleet token while the synchronous mode owns the stock.
const directMark = "direct-"

// takeFleet draws a fleet token that marks the synchronous mode: all of Redis
// is stale from here on, and stays so until leaveDirect.
func (l *Ledger) takeFleet(ctx context.Context) error {
	l.fleet = directMark + l.opt.Token()
	return l.setFleet(ctx, l.fleet)
}

// leaveDirect ends a synchronous mode that was in force: Redis knows nothing of
// its orders, so the fleet's token is drawn anew and every cabinet rebuilt.
func (l *Ledger) leaveDirect(ctx context.Context) error {
	return l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE trade_cabinet SET generation = ? WHERE cabinet_id = ? AND generation LIKE ?", l.opt.Token(), fleetRow, directMark+"%")
		return err
	})
}

// owns refuses unless a generation is of the fleet token that this process drew.
// Once another service has drawn one, nothing may move stock here any more: its
// Redis would never hear of it.
func (l *Ledger) owns(generation string) error {
	if strings.HasSuffix(generation, "."+l.fleet) {
		return nil
	}
	return &order.Refusal{Code: wire.CodeFenced, Detail: "another service has taken the stock over; restart this one to take it back"}
}

// ownStock checks that this process still owns the stock, and keeps it so until
// the transaction ends.
func (l *Ledger) ownStock(ctx context.Context, tx *sql.Tx) error {
	var fleet string
	err := tx.QueryRowContext(ctx, "SELECT generation FROM trade_cabinet WHERE cabinet_id = ?"+l.dialect.forShare, fleetRow).Scan(&fleet)
	if err != nil {
		return fmt.Errorf("read the fleet's generation: %w", err)
	}
	return l.owns(generation("", fleet))
}

// applyDirect moves stock in the transaction that moved the orders.
func (l *Ledger) applyDirect(ctx context.Context, tx *sql.Tx, os []order.Order) error {
	sts := make([]statement.Statement, len(os))
	for i, o := range os {
		sts[i] = statementOf(o)
	}
	rest, err := l.applyTx(ctx, tx, newest(sts))
	if err == nil && len(rest) > 0 {
		err = &order.Refusal{Code: wire.CodeStockShort, Detail: "not enough stock"}
	}
	return err
}

// applyFacts moves stock in the transaction that recorded the facts of b. They
// happened, so what does not fit is a shortage, settled here and now. Returned
// are the orders that lost; in b stays what its runners have to hear of.
func (l *Ledger) applyFacts(ctx context.Context, tx *sql.Tx, b *rowSet) (losers []order.Order, err error) {
	sts := newest(b.stock)
	b.stock = nil
	defer func() { b.stock, b.redis = nil, map[int][]effect.Effect{} }() // there is no queue here, and no Redis
	rest, err := l.applyTx(ctx, tx, sts)
	if err != nil || len(rest) == 0 {
		return nil, err
	}
	_, waiting := sortOut(sts, rest)
	rows := l.stockRows(waiting, b.now, b.now) // so that the truth counts them
	if err := l.insertMsgs(ctx, tx, rows); err != nil {
		return nil, err
	}
	for _, s := range waiting {
		for _, w := range s.Lines {
			found, err := l.settleTx(ctx, tx, b, s.Cabinet, w.SKU)
			if err != nil {
				return nil, err
			}
			if found != nil {
				losers = append(losers, found.Losers...)
				losers = append(losers, found.Withdrawn...)
			}
		}
	}
	all := newest(append(b.stock, waiting...))
	if rest, err = l.applyTx(ctx, tx, all); err != nil {
		return nil, err
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	if err := deleteMsgs(ctx, tx, ids...); err != nil {
		return nil, err
	}
	// What still waits does so for a release that the other mode left behind.
	_, waiting = sortOut(all, rest)
	return losers, l.insertMsgs(ctx, tx, l.stockRows(waiting, b.now, b.now))
}
