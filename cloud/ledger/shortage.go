package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// Shortage is what a settled physical shortage cost.
type Shortage struct {
	Cabinet string
	SKU     string
	Losers  []order.Order // rolled back, newest first
	Drift   int64         // units booked as drift, since nobody could lose
}

// SettleShortage looks at the truth of a SKU whose statements would bring its
// row below zero. Not negative: a release is still under way and the statements
// wait their turn; nil. Negative: more was promised than exists (Redis lost
// writes in a way no fence saw, or the cabinet sold on its own). Then the newest
// unpaid holds lose; what nobody can lose is booked as a drift fact, which
// reaches Redis like any fact, so that both sides stay exact.
//
// All of it is one transaction under the cabinet's exclusive lock. Dies before
// the commit: the statements come again and ask again.
func (l *Ledger) SettleShortage(ctx context.Context, cabinet, sku string) (*Shortage, error) {
	var out *Shortage
	var rows []outbox.Row
	err := l.inTx(ctx, l.dialect.snapshot, func(tx *sql.Tx) error {
		out, rows = nil, nil
		if _, _, err := l.lockCabinet(ctx, tx, cabinet); err != nil {
			return err
		}
		truth, err := l.sellable(ctx, tx, cabinet)
		if err != nil {
			return err
		}
		short := -truth[sku]
		if short <= 0 {
			return nil
		}
		out = &Shortage{Cabinet: cabinet, SKU: sku}
		b := l.newRows(l.now())
		if short, err = l.pickLosers(ctx, tx, b, out, short); err != nil {
			return err
		}
		if short > 0 {
			out.Drift = short
			f := Fact{ID: l.opt.ID(), Cabinet: cabinet, State: statement.Drift, Cause: "shortage nobody could lose", Lines: []wire.Line{{SKU: sku, Qty: int(short)}}}
			if _, err := l.addFact(ctx, tx, b, f, b.now); err != nil {
				return err
			}
		}
		rows = b.rows()
		return l.insertMsgs(ctx, tx, rows)
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: settle the shortage of %s at %s: %w", sku, cabinet, err)
	}
	if out != nil {
		l.counters.Shortages.Add(1)
		l.opt.Feed(rows)
		l.opt.Changed(out.Losers)
	}
	return out, nil
}

// pickLosers rolls back the newest unpaid holds of a SKU until short is covered,
// and returns what is left of it.
func (l *Ledger) pickLosers(ctx context.Context, tx *sql.Tx, b *rowSet, out *Shortage, short int64) (int64, error) {
	found, err := orders(ctx, tx, selectOrder+` WHERE cabinet_id = ? AND status = 'PRE_RESERVED'
		AND order_sn IN (SELECT order_sn FROM trade_order_line WHERE sku_id = ?)
		ORDER BY created_at DESC, order_sn DESC LIMIT `+itoa(int(min(short, 1000)))+l.dialect.forUpdate, out.Cabinet, out.SKU)
	if err != nil {
		return short, fmt.Errorf("find losers: %w", err)
	}
	for _, o := range found {
		if short <= 0 {
			break
		}
		next, err := l.step(o.Order, &order.Change{Event: order.Timeout}, b.now)
		if err == nil {
			err = setState(ctx, tx, o.Order, next, "stock short", b.now)
		}
		if err != nil {
			return short, err
		}
		l.tell(b, next)
		out.Losers = append(out.Losers, next)
		for _, line := range o.Lines {
			if line.SKU == out.SKU {
				short -= int64(line.Qty)
			}
		}
	}
	return short, nil
}
