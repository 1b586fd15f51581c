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
	if l.opt.Direct {
		if err := l.ownStock(ctx, tx); err != nil {
			return nil, err
		}
	}
	current, err := l.lockOrders(ctx, tx, cs)
	if err != nil {
		return nil, err
	}
	gens, err := l.runGenerations(ctx, tx, cs, current)
	if err != nil {
		return nil, err
	}
	purses, err := l.purses(ctx, tx, cs, current)
	if err != nil {
		return nil, err
	}
	b := l.newRows(now)
	w := &moves{l: l, now: now}
	var direct []order.Order
	var admitted admitted
	for i, c := range cs {
		if errs[i] != nil {
			continue
		}
		o, ok := current[c.ID]
		if !ok {
			errs[i] = order.ErrUnknown
			continue
		}
		moves, err := l.admit(ctx, tx, b, o, c, purses[c.ID])
		if err == nil && !moves {
			c.After = o
			continue
		}
		next := o
		if err == nil {
			next, err = l.step(o, c, now)
		}
		if err == nil && c.Event == order.RetryDeduct && !l.opt.Direct {
			err = countRetry(ctx, tx, c.Run, next, gens[o.Cabinet])
		}
		if err == nil && c.Event == order.PreDeduct {
			err = admitted.add(c.Run, &next, gens[o.Cabinet], l.opt.Direct)
		}
		var refused *order.StateError
		if errors.As(err, &refused) || errors.Is(err, order.ErrStale) || errors.Is(err, order.ErrDoubled) || errors.Is(err, order.ErrUnknown) {
			errs[i] = err
			continue
		}
		if err == nil {
			err = w.add(ctx, tx, o, next, c.Event, c.Cause)
		}
		if err != nil {
			return nil, err
		}
		if err := l.pays(ctx, tx, c, purses[o.ID], now); err != nil {
			return nil, err
		}
		current[c.ID], c.After = next, next
		if next.Status == order.Consumed {
			if err := l.addCommand(ctx, tx, b, next); err != nil {
				return nil, err
			}
		}
		if l.opt.Direct {
			direct = append(direct, next)
			continue
		}
		l.tell(b, next)
	}
	if err := admitted.write(ctx, tx, b); err != nil {
		return nil, err
	}
	if err := w.flush(ctx, tx); err != nil {
		return nil, err
	}
	if err := l.applyDirect(ctx, tx, direct); err != nil {
		return nil, err
	}
	rows := b.rows()
	return rows, l.insertMsgs(ctx, tx, rows)
}

// transition is the entry of a change in an order's history.
func transition(was, next order.Order, e order.Event, cause string) order.Entry {
	return order.Entry{Kind: order.EntryTransition, Event: e, From: was.Status, To: next.Status, Version: next.Version, Cause: cause}
}

// step is the order that a change makes of o, or a *order.StateError.
func (l *Ledger) step(o order.Order, c *order.Change, now int64) (order.Order, error) {
	to, ok := order.Next(o.Status, c.Event)
	if !ok || o.Refused() || c.Version != 0 && c.Version != o.Version || !c.NotBefore.IsZero() && c.NotBefore.Before(o.HoldUntil) {
		return o, &order.StateError{Order: o, Event: c.Event}
	}
	o.Status, o.Version, o.HoldUntil = to, o.Version+1, time.Time{}
	if to == order.PreReserved {
		o.HoldUntil = ms(now).Add(l.opt.Hold)
	}
	if c.Event == order.PreDeduct {
		o.ExpiresAt = o.HoldUntil
	}
	return o, nil
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

func (l *Ledger) announceMoved(cs []*order.Change, errs []error) {
	done := make([]order.Order, 0, len(cs))
	for i, c := range cs {
		if errs[i] == nil && c.Event == order.PreDeduct {
			l.counters.Orders.Add(1)
		}
		if errs[i] == nil && (c.Capture == nil || c.Captured == order.CapturedPays) {
			done = append(done, c.After)
		}
	}
	l.counters.Transitions.Add(int64(len(done)))
	l.opt.Changed(done)
}
