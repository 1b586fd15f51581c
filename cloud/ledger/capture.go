package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/shared/money"
)

// purse is what a group of changes has to know of one order's money. Whoever
// changes it holds the order's row lock.
type purse struct {
	payments []*payment.Payment
	back     map[string]bool // payments that are on their way back as a whole
}

// purses reads, and locks, the payments of the orders in cs, which are locked.
func (l *Ledger) purses(ctx context.Context, tx *sql.Tx, cs []*order.Change, current map[string]order.Order) (map[string]*purse, error) {
	var ids []any
	for _, c := range cs {
		if _, ok := current[c.ID]; ok && (c.Capture != nil || c.Event == order.Timeout || c.Event == order.RetryDeduct) {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := payments(ctx, tx, selectPayment+" WHERE order_sn IN ("+marks(len(ids))+") ORDER BY payment_id"+l.dialect.forUpdate, ids...)
	if err != nil {
		return nil, fmt.Errorf("lock payments: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	all := map[string]*purse{}
	for i := range found {
		p := &found[i]
		if all[p.Order] == nil {
			all[p.Order] = &purse{back: map[string]bool{}}
		}
		all[p.Order].payments = append(all[p.Order].payments, p)
	}
	whole, err := returns(ctx, tx, selectReturn+" WHERE order_sn IN ("+marks(len(ids))+") AND sku_id = ''", ids...)
	if err != nil {
		return nil, fmt.Errorf("read refunds: %w", err)
	}
	for _, r := range whole {
		if w := all[r.Order]; w != nil {
			w.back[r.Payment] = true
		}
	}
	return all, nil
}

func (w *purse) find(id string) *payment.Payment {
	if w != nil {
		for _, p := range w.payments {
			if p.ID == id {
				return p
			}
		}
	}
	return nil
}

// undecided reports whether money is here that neither pays for the order nor
// goes back.
func (w *purse) undecided() bool {
	if w != nil {
		for _, p := range w.payments {
			if p.Status == payment.StatusSurplus && !w.back[p.ID] {
				return true
			}
		}
	}
	return false
}

// admit decides whether a change may go on to move its order: money that
// arrives is booked, and goes its way, whatever the order's state is.
//
// A hold whose money is here does not time out: somebody has taken its basket
// again, and is about to consume it. An order whose money is on its way back is
// not taken again.
func (l *Ledger) admit(ctx context.Context, tx *sql.Tx, b *rowSet, o order.Order, c *order.Change, w *purse) (moves bool, err error) {
	switch {
	case c.Capture != nil:
		return l.receive(ctx, tx, b, o, c, w)
	case c.Event == order.Timeout && w.undecided(),
		c.Event == order.RetryDeduct && w != nil && len(w.back) > 0 && !w.undecided():
		return false, &order.StateError{Order: o, Event: c.Event}
	}
	return true, nil
}

// receive books money that arrived, except when it moves the order: then it is
// booked when the order has moved (pays).
//
// Promise: from this commit on the money is in our books, once, and somebody's
// to act on: the order is CONSUMED, or a late row decides, or a refund is on its
// way. Dies before it: the callback's row, or the check's, brings it again.
func (l *Ledger) receive(ctx context.Context, tx *sql.Tx, b *rowSet, o order.Order, c *order.Change, w *purse) (moves bool, err error) {
	p := w.find(c.Capture.Payment)
	if p == nil {
		return false, order.ErrUnknown
	}
	switch {
	case o.Status == order.Init:
		return false, &order.StateError{Order: o, Event: c.Event}
	case o.Status == order.PreReserved && p.Status != payment.StatusPaid && !w.back[p.ID]:
		c.Captured = order.CapturedPays
		return true, nil
	case p.Captured():
		c.Captured = order.CapturedAgain
		return false, nil
	case o.Status == order.Consumed:
		c.Captured = order.CapturedTwice
		if err := l.book(ctx, tx, p, payment.StatusSurplus, c.Capture, "the order is paid already", b.now); err != nil {
			return false, err
		}
		w.back[p.ID] = true
		return false, l.addRefund(ctx, tx, b, refund{payment: p.ID, order: o, amount: p.Amount, reason: "paid twice"})
	default:
		c.Captured = order.CapturedLate
		b.add(outbox.KindLate, o.Cabinet, p.ID, QuickLease)
		return false, l.book(ctx, tx, p, payment.StatusSurplus, c.Capture, "after the order had ended", b.now)
	}
}

// pays books the money that has just moved its order to CONSUMED.
func (l *Ledger) pays(ctx context.Context, tx *sql.Tx, c *order.Change, w *purse, now int64) error {
	if c.Capture == nil {
		return nil
	}
	return l.book(ctx, tx, w.find(c.Capture.Payment), payment.StatusPaid, c.Capture, "", now)
}

// book writes that a payment's money is here, and what it is for; the movement
// only the first time.
func (l *Ledger) book(ctx context.Context, tx *sql.Tx, p *payment.Payment, to payment.Status, c *order.Capture, cause string, now int64) error {
	first := !p.Captured()
	p.Status = to
	if first {
		p.Ref = c.Ref[:min(len(c.Ref), 64)]
		if err := addMovement(ctx, tx, p.Order, money.Movement{Kind: money.Captured, Ref: p.ID, Money: p.Amount}, now); err != nil {
			return err
		}
	}
	return l.setPayment(ctx, tx, *p, cause)
}
