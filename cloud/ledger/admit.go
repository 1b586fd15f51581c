package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// admitted gathers the pending orders that one transaction places, and what goes
// with their transitions: the runs' tickets, the holds that give way, the
// intents, and the callbacks.
type admitted struct {
	orders  []order.Order
	tickets []any
}

// add takes an order in whose run is current; next gets its intent's new state.
func (a *admitted) add(r order.Run, next *order.Order, current string, direct bool) error {
	if !direct {
		if r.Generation != current {
			return order.ErrStale
		}
		a.tickets = appendTicket(a.tickets, next.Cabinet, r, next.ID)
	}
	if next.Intent != nil {
		placed := *next.Intent
		placed.Status = order.IntentPlaced
		next.Intent = &placed
	}
	a.orders = append(a.orders, *next)
	return nil
}

// write makes the runs count and decides the intents. A ticket that somebody
// else drew fails the whole group, which is then split until its order is alone.
func (a *admitted) write(ctx context.Context, tx *sql.Tx, b *rowSet) error {
	if len(a.orders) == 0 {
		return nil
	}
	if err := insertTickets(ctx, tx, a.tickets); err != nil {
		return err
	}
	if err := b.l.replaced(ctx, tx, b, a.orders); err != nil {
		return err
	}
	ids := make([]any, len(a.orders))
	for i, o := range a.orders {
		ids[i] = o.ID
		b.callback(o)
	}
	_, err := tx.ExecContext(ctx, "UPDATE trade_intent SET status = ?, changed_at = ? WHERE order_sn IN ("+marks(len(ids))+")",
		append([]any{string(order.IntentPlaced), b.now}, ids...)...)
	if err != nil {
		return fmt.Errorf("decide intents: %w", err)
	}
	return nil
}

// callback adds the row that tells whoever wants to know of an intent's outcome.
func (b *rowSet) callback(o order.Order) {
	if o.Intent == nil || o.Intent.Callback == "" {
		return
	}
	told := outbox.Callback{URL: o.Intent.Callback, Body: encode(order.OutcomeOf(o, ms(b.now)))}
	b.add(outbox.KindCallback, o.Cabinet, string(encode(told)), QuickLease)
}

// AdmitSync places a pending order in the synchronous mode; see PlaceSync.
//
// Dies before the commit: nothing happened, and the order's outbox row comes
// again. Dies after: the row finds the order placed.
func (l *Ledger) AdmitSync(ctx context.Context, o order.Order, limits []order.Item) error {
	return l.direct(ctx, o.Cabinet, limits, func(tx *sql.Tx, b *rowSet) (order.Order, error) {
		c := &order.Change{ID: o.ID, Event: order.PreDeduct, Cause: "placed"}
		was, next, err := l.steps(ctx, tx, c, b.now)
		if err != nil {
			return o, err
		}
		return l.admitOne(ctx, tx, b, was, next, c)
	})
}

// admitOne writes the step that places a pending order outside the fast way.
func (l *Ledger) admitOne(ctx context.Context, tx *sql.Tx, b *rowSet, was, next order.Order, c *order.Change) (order.Order, error) {
	var a admitted
	if err := a.add(order.Run{}, &next, "", true); err != nil {
		return was, err
	}
	if err := a.write(ctx, tx, b); err != nil {
		return was, err
	}
	return next, l.write(ctx, tx, was, next, c, b.now)
}
