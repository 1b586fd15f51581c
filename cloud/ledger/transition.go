package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"vendline/cloud/effect"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// Transition carries out a change with everyone who comes at the same time.
//
// Promise: when it returns nil, the new state, the raised version and the
// outbox rows that tell stock and Redis of it are durable together. Dies before
// the commit: nothing happened. Dies after: the rows are carried out by whoever
// claims them, once, since each states (id, version).
func (l *Ledger) Transition(ctx context.Context, c *order.Change) error {
	return l.moving.Do(ctx, c)
}

// moveGroup commits a group of changes; one that fails costs itself only.
func (l *Ledger) moveGroup(ctx context.Context, cs []*order.Change) []error {
	errs := make([]error, len(cs))
	l.moveSplit(ctx, cs, errs)
	return errs
}

func (l *Ledger) moveSplit(ctx context.Context, cs []*order.Change, errs []error) {
	var rows []outbox.Row
	tctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := l.inTx(tctx, l.dialect.commit, func(tx *sql.Tx) (err error) {
		clear(errs)
		rows, err = l.moveTx(tctx, tx, cs, errs)
		return err
	})
	switch {
	case err == nil:
		l.opt.Feed(rows)
		l.announceMoved(cs, errs)
	case len(cs) == 1 || transient(err) || ctx.Err() != nil:
		for i := range errs {
			errs[i] = err
		}
	default:
		clear(errs)
		mid := len(cs) / 2
		l.moveSplit(ctx, cs[:mid], errs[:mid])
		l.moveSplit(ctx, cs[mid:], errs[mid:])
	}
}

// moveTx locks the orders, walks the changes in their order of arrival (two of
// one order see each other), and writes what came out.
func (l *Ledger) moveTx(ctx context.Context, tx *sql.Tx, cs []*order.Change, errs []error) ([]outbox.Row, error) {
	now := l.now()
	current, err := l.lockOrders(ctx, tx, cs)
	if err != nil {
		return nil, err
	}
	if err := l.checkRuns(ctx, tx, cs, current, errs); err != nil {
		return nil, err
	}
	b := l.newRows(now)
	var direct []order.Order
	for i, c := range cs {
		if errs[i] != nil {
			continue
		}
		o, ok := current[c.ID]
		if !ok {
			errs[i] = order.ErrUnknown
			continue
		}
		next, err := l.moveOne(ctx, tx, o, c, now)
		var refused *order.StateError
		if errors.As(err, &refused) {
			errs[i] = err
			continue
		}
		if err != nil {
			return nil, err
		}
		current[c.ID], c.After = next, next
		if l.opt.Direct {
			direct = append(direct, next)
			continue
		}
		l.tell(b, next)
	}
	if err := l.applyDirect(ctx, tx, direct); err != nil {
		return nil, err
	}
	rows := b.rows()
	return rows, l.insertMsgs(ctx, tx, rows)
}

// moveOne is the compare-and-set of one order on (state, version).
func (l *Ledger) moveOne(ctx context.Context, tx *sql.Tx, o order.Order, c *order.Change, now int64) (order.Order, error) {
	to, ok := order.Next(o.Status, c.Event)
	if !ok || c.Version != 0 && c.Version != o.Version || !c.NotBefore.IsZero() && c.NotBefore.Before(o.HoldUntil) {
		return o, &order.StateError{Order: o, Event: c.Event}
	}
	next := o
	next.Status, next.Version = to, o.Version+1
	next.HoldUntil = time.Time{}
	var hold any
	if to == order.PreReserved {
		next.HoldUntil = ms(now).Add(l.opt.Hold)
		hold = next.HoldUntil.UnixMilli()
	}
	res, err := tx.ExecContext(ctx, `UPDATE trade_order SET status = ?, version = ?, cause = ?, changed_at = ?, hold_until = ?
		WHERE order_sn = ? AND status = ? AND version = ?`, string(to), next.Version, c.Cause, now, hold, o.ID, string(o.Status), o.Version)
	if err != nil {
		return o, fmt.Errorf("update order: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return o, fmt.Errorf("update order %s: %d rows changed under its lock (%v)", o.ID, n, err)
	}
	return next, nil
}

// tell adds what stock and Redis have to hear of an order's new state. A hold
// that came about has already been taken in Redis by its own run.
func (l *Ledger) tell(b *rowSet, o order.Order) {
	b.state(statementOf(o))
	switch o.Status {
	case order.RolledBack:
		b.effect(effect.Effect{Release: releaseOf(o)})
	case order.PreReserved:
		b.timer(o.ID, o.HoldUntil.UnixMilli())
	}
}

func releaseOf(o order.Order) *effect.Release {
	return &effect.Release{ID: o.ID, Cabinet: o.Cabinet, User: o.User, Version: o.Version, Lines: wireLines(o.Lines)}
}

func (l *Ledger) lockOrders(ctx context.Context, tx *sql.Tx, cs []*order.Change) (map[string]order.Order, error) {
	ids := make([]any, len(cs))
	for i, c := range cs {
		ids[i] = c.ID
	}
	found, err := orders(ctx, tx, selectOrder+" WHERE order_sn IN ("+marks(len(ids))+") ORDER BY order_sn"+l.dialect.forUpdate, ids...)
	if err != nil {
		return nil, fmt.Errorf("lock orders: %w", err)
	}
	current := make(map[string]order.Order, len(found))
	for _, o := range found {
		current[o.ID] = o.Order
	}
	return current, nil
}

// checkRuns makes the second deduct of EV_RETRY_DEDUCT count: its generation
// must be current and its ticket nobody else's, in this transaction.
func (l *Ledger) checkRuns(ctx context.Context, tx *sql.Tx, cs []*order.Change, current map[string]order.Order, errs []error) error {
	cabinets := map[string]struct{}{}
	for _, c := range cs {
		if o, ok := current[c.ID]; ok && c.Event == order.RetryDeduct && !l.opt.Direct {
			cabinets[o.Cabinet] = struct{}{}
		}
	}
	if len(cabinets) == 0 {
		return nil
	}
	gens, err := l.generations(ctx, tx, cabinets)
	if err != nil {
		return fmt.Errorf("read generations: %w", err)
	}
	for i, c := range cs {
		o, ok := current[c.ID]
		if !ok || c.Event != order.RetryDeduct {
			continue
		}
		if _, ok := order.Next(o.Status, c.Event); !ok || c.Version != 0 && c.Version != o.Version {
			continue // refused below, with its reason; its ticket must not be recorded
		}
		if gens[o.Cabinet] != c.Run.Generation {
			errs[i] = order.ErrStale
			continue
		}
		if err := insertTickets(ctx, tx, appendTicket(nil, o.Cabinet, c.Run, retryOwner(o.ID, o.Version+1))); err != nil {
			if errors.Is(err, order.ErrDoubled) {
				errs[i] = err
				continue
			}
			return err
		}
	}
	return nil
}

func retryOwner(id string, version int64) string { return fmt.Sprintf("%s@%d", id, version) }

func (l *Ledger) announceMoved(cs []*order.Change, errs []error) {
	done := make([]order.Order, 0, len(cs))
	for i, c := range cs {
		if errs[i] == nil {
			done = append(done, c.After)
		}
	}
	l.counters.Transitions.Add(int64(len(done)))
	l.opt.Changed(done)
}
