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

// SettleShortage looks at the truth of a SKU whose statements would bring its
// row below zero. Not negative: a release is still under way and the statements
// wait their turn; nil. Negative: more was promised than exists (Redis lost
// writes in a way no fence saw, or the cabinet sold on its own). Then the newest
// unpaid holds lose, then the newest paid orders that no cabinet has heard of:
// their commands are taken back, and their lines refunded. What nobody can lose
// is booked as a drift fact, which reaches Redis like any fact, so that both
// sides stay exact: the units were there all the same, or the cabinet will say
// of somebody's that they did not drop.
//
// All of it is one transaction under the cabinet's exclusive lock. Dies before
// the commit: the statements come again and ask again.
func (l *Ledger) SettleShortage(ctx context.Context, cabinet, sku string) (*statement.Shortage, error) {
	// Asked without locks first: mostly a release is under way, and nobody
	// should wait for that answer.
	truth, err := l.Sellable(ctx, cabinet)
	if err != nil || truth[sku] >= 0 {
		return nil, err
	}
	var out *statement.Shortage
	var rows []outbox.Row
	err = l.inTx(ctx, l.dialect.snapshot, func(tx *sql.Tx) error {
		out, rows = nil, nil
		if _, _, err := l.lockCabinet(ctx, tx, cabinet); err != nil {
			return err
		}
		b := l.newRows(l.now())
		var err error
		if out, err = l.settleTx(ctx, tx, b, cabinet, sku); err != nil || out == nil {
			return err
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
		l.opt.Changed(append(out.Losers, out.Withdrawn...))
	}
	return out, nil
}

// settleTx picks losers, then books drift, until the truth of a SKU is not
// negative, and adds to b what stock and Redis have to hear. The holds that may
// lose are locked before the truth is read, so that none of them ends or is
// paid in between. nil: there is no shortage.
func (l *Ledger) settleTx(ctx context.Context, tx *sql.Tx, b *rowSet, cabinet, sku string) (*statement.Shortage, error) {
	holds, err := orders(ctx, tx, selectOrder+` WHERE cabinet_id = ? AND changed_at >= ? AND status = 'PRE_RESERVED'
		AND order_sn IN (SELECT order_sn FROM trade_order_line WHERE sku_id = ?) ORDER BY created_at DESC, order_sn DESC`+l.dialect.forUpdate,
		cabinet, b.now-markAge, sku)
	if err != nil {
		return nil, fmt.Errorf("lock holds: %w", err)
	}
	truth, err := l.sellable(ctx, tx, cabinet)
	if err != nil {
		return nil, err
	}
	short := -truth[sku]
	if short <= 0 {
		return nil, nil
	}
	out := &statement.Shortage{Cabinet: cabinet, SKU: sku}
	w := &moves{l: l, now: b.now}
	for _, o := range holds {
		if short <= 0 {
			break
		}
		next, err := l.step(o.Order, &order.Change{Event: order.Timeout}, b.now)
		if err == nil {
			err = w.add(ctx, tx, o.Order, next, order.Timeout, "stock short")
		}
		if err != nil {
			return nil, err
		}
		l.tell(b, next)
		out.Losers = append(out.Losers, next)
		short -= units(o.Order, sku)
	}
	if err := w.flush(ctx, tx); err != nil || short <= 0 {
		return out, err
	}
	if short, err = l.takeBack(ctx, tx, b, out, short); err != nil || short <= 0 {
		return out, err
	}
	out.Drift = short
	f := Fact{ID: l.opt.ID(), Cabinet: cabinet, State: statement.Drift, Cause: causeShort, Lines: []wire.Line{{SKU: sku, Qty: int(short)}}}
	if err := l.addFact(ctx, tx, b, f); err != nil {
		return nil, err
	}
	return out, l.soldOut(ctx, tx, b, cabinet, sku)
}

func units(o order.Order, sku string) (n int64) {
	for _, l := range o.Lines {
		if l.SKU == sku {
			n += int64(l.Qty)
		}
	}
	return n
}
