package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

// PlaceFallback places an order while Redis is away: the truth admits it, under
// the cabinet row's lock.
//
// Promise: nil means that the order, its lines, its outbox rows and a new token
// for the cabinet are durable, all or none; any error that is not transient
// means that nothing is. The basket was there: counting what step 8 has not
// seen, nobody else has been promised its units, and nobody can be, since
// whatever Redis admitted and has not committed yet runs under the token before
// and no longer counts. Dies before the commit: nothing happened, the caller
// asks again under the same id. Dies after: the order stands, the caller asks
// again and hears so, its rows are carried by whoever claims them, and Redis is
// rebuilt on first touch.
func (l *Ledger) PlaceFallback(ctx context.Context, o order.Order, limits []order.Item) error {
	return l.fallback(ctx, o.Cabinet, nil, l.placeSlow(ctx, o, limits))
}

// placeSlow writes an order that is new.
func (l *Ledger) placeSlow(ctx context.Context, o order.Order, limits []order.Item) func(*sql.Tx, *rowSet) (order.Order, error) {
	return func(tx *sql.Tx, b *rowSet) (order.Order, error) {
		found, err := takenIDs(ctx, tx, []*order.Order{&o})
		if err != nil {
			return o, err
		}
		if found[o.ID] { // before its units are asked for: they may be the last ones
			return o, order.ErrExists
		}
		if err := l.canTake(ctx, tx, o, limits); err != nil {
			return o, err
		}
		if err := l.replaced(ctx, tx, b, []order.Order{o}); err != nil {
			return o, err
		}
		return o, l.insertDirect(ctx, tx, o)
	}
}

// AdmitFallback places a pending order while Redis is away; see PlaceFallback.
//
// Dies before the commit: the order is pending, and its outbox row comes again.
// Dies after: the row finds the order placed.
func (l *Ledger) AdmitFallback(ctx context.Context, o order.Order, limits []order.Item) error {
	return l.fallback(ctx, o.Cabinet, nil, func(tx *sql.Tx, b *rowSet) (order.Order, error) {
		c := &order.Change{ID: o.ID, Event: order.PreDeduct, Cause: "placed"}
		was, next, err := l.steps(ctx, tx, c, b.now)
		if err != nil {
			return o, err
		}
		if err := l.canTake(ctx, tx, was, limits); err != nil {
			return o, err
		}
		return l.admitOne(ctx, tx, b, was, next, c)
	})
}

// RetryFallback takes a rolled-back order's basket again while Redis is away
// (EV_RETRY_DEDUCT); see PlaceFallback.
//
// Dies before the commit: the order is rolled back, and whoever decides about
// its late money comes again. Dies after: that finds it held.
func (l *Ledger) RetryFallback(ctx context.Context, o order.Order, limits []order.Item) (after order.Order, err error) {
	err = l.fallback(ctx, o.Cabinet, &after, func(tx *sql.Tx, b *rowSet) (order.Order, error) {
		c := &order.Change{ID: o.ID, Event: order.RetryDeduct, Cause: "paid late", Version: o.Version}
		was, next, err := l.steps(ctx, tx, c, b.now)
		if err != nil {
			return o, err
		}
		purses, err := l.purses(ctx, tx, []*order.Change{c}, map[string]order.Order{was.ID: was})
		if err != nil {
			return o, err
		}
		if _, err := l.admit(ctx, tx, b, was, c, purses[was.ID]); err != nil {
			return o, err
		}
		if err := l.canTake(ctx, tx, was, limits); err != nil {
			return o, err
		}
		return next, l.write(ctx, tx, was, next, c, b.now)
	})
	return after, err
}

// fallback runs one placement's transaction and tells of it; after may be nil.
func (l *Ledger) fallback(ctx context.Context, cabinet string, after *order.Order, put func(*sql.Tx, *rowSet) (order.Order, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var rows []outbox.Row
	var o order.Order
	err := l.inTx(ctx, l.dialect.snapshot, func(tx *sql.Tx) (err error) {
		o, rows, err = l.fallbackTx(ctx, tx, cabinet, put)
		return err
	})
	if err != nil {
		return err
	}
	if after != nil {
		*after = o
	}
	l.counters.OrderCommits.Add(1)
	l.counters.Orders.Add(1)
	l.opt.Feed(rows)
	l.opt.Changed([]order.Order{o})
	return nil
}

// fallbackTx is the transaction. The cabinet's row is locked first, which opens
// no snapshot; the first plain read after it does, so that it sees all that
// committed while we waited. The token is drawn in the same commit: a placement
// of the fast way that is under way is either before us, and counted, or finds
// its generation stale.
func (l *Ledger) fallbackTx(ctx context.Context, tx *sql.Tx, cabinet string, put func(*sql.Tx, *rowSet) (order.Order, error)) (order.Order, []outbox.Row, error) {
	_, fleet, err := l.lockCabinet(ctx, tx, cabinet)
	if err != nil {
		return order.Order{}, nil, err
	}
	if strings.HasPrefix(fleet, directMark) {
		return order.Order{}, nil, &order.Refusal{Code: wire.CodeFenced, Detail: "a service in synchronous mode owns the stock"}
	}
	b := l.newRows(l.now())
	o, err := put(tx, b)
	if err != nil {
		return o, nil, err
	}
	b.state(statementOf(o))
	b.timer(o.ID, o.HoldUntil.UnixMilli())
	rows := b.rows()
	if err := l.insertMsgs(ctx, tx, rows); err != nil {
		return o, nil, err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE trade_cabinet SET generation = ? WHERE cabinet_id = ?", l.opt.Token(), cabinet); err != nil {
		return o, nil, fmt.Errorf("draw a token: %w", err)
	}
	return o, rows, nil
}

// steps locks the order of a change and makes the step, unwritten yet.
func (l *Ledger) steps(ctx context.Context, tx *sql.Tx, c *order.Change, now int64) (was, next order.Order, err error) {
	current, err := l.lockOrders(ctx, tx, []*order.Change{c})
	if err != nil {
		return was, next, err
	}
	was, ok := current[c.ID]
	if !ok {
		return was, next, order.ErrUnknown
	}
	next, err = l.step(was, c, now)
	return was, next, err
}

// write writes one order's step.
func (l *Ledger) write(ctx context.Context, tx *sql.Tx, was, next order.Order, c *order.Change, now int64) error {
	w := &moves{l: l, now: now}
	if err := w.add(ctx, tx, was, next, c.Event, c.Cause); err != nil {
		return err
	}
	return w.flush(ctx, tx)
}

// canTake refuses a basket that the truth does not have, or that its shopper may
// not have. tx holds the cabinet's row, and o takes no stock yet.
func (l *Ledger) canTake(ctx context.Context, tx *sql.Tx, o order.Order, limits []order.Item) error {
	truth, err := l.sellable(ctx, tx, o.Cabinet)
	if err != nil {
		return err
	}
	for _, line := range o.Lines {
		if _, ok := truth[line.SKU]; !ok {
			return &order.Refusal{Code: wire.CodeSKUUnknown, Detail: "this cabinet does not sell " + line.SKU}
		}
	}
	if no := shortOf(o, truth); len(no.Short) > 0 {
		return no
	}
	return l.checkLimits(ctx, tx, o, limits)
}
