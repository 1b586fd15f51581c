package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// replaced adds to b a row for the holds that give way to new orders of their
// shoppers: at one cabinet a shopper has one unpaid order, the newest, and
// Options.Holds over all of them. So nobody is kept from the last unit by an
// order that he himself walked away from.
//
// It is asked before the new orders are there. They are named here and rolled back by the row's runner, since the provider
// has to be asked first whether they have been paid meanwhile. Two processes
// that place for one shopper in the same instant may each miss the other's
// order; it then ends at its time, as any hold.
func (l *Ledger) replaced(ctx context.Context, tx *sql.Tx, b *rowSet, placed []order.Order) error {
	if l.opt.Holds <= 0 {
		return nil
	}
	users := make(map[string][]order.Order, len(placed))
	for _, o := range placed {
		users[o.User] = append(users[o.User], order.Order{ID: o.ID, Cabinet: o.Cabinet, User: o.User, CreatedAt: o.CreatedAt})
	}
	args := make([]any, 0, len(users)+1)
	for u := range users {
		args = append(args, u)
	}
	args = append(args, b.now)
	rows, err := tx.QueryContext(ctx, "SELECT order_sn, cabinet_id, user_id, created_at FROM trade_order WHERE user_id IN ("+
		marks(len(args)-1)+") AND hold_until > ?", args...)
	if err != nil {
		return fmt.Errorf("find the shoppers' holds: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var o order.Order
		var created int64
		if err := rows.Scan(&o.ID, &o.Cabinet, &o.User, &created); err != nil {
			return fmt.Errorf("find the shoppers' holds: %w", err)
		}
		o.CreatedAt = ms(created)
		users[o.User] = append(users[o.User], o)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("find the shoppers' holds: %w", err)
	}
	for _, holds := range users {
		b.replaced = append(b.replaced, giveWay(holds, l.opt.Holds)...)
	}
	return nil
}

// giveWay picks the holds of one shopper that are not the newest at their
// cabinet, nor among the newest most.
func giveWay(holds []order.Order, most int) (ids []string) {
	if len(holds) == 1 {
		return nil
	}
	slices.SortFunc(holds, func(a, b order.Order) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	at := map[string]bool{}
	for _, o := range holds {
		if at[o.Cabinet] || len(at) >= most {
			ids = append(ids, o.ID)
			continue
		}
		at[o.Cabinet] = true
	}
	return ids
}

// Holds returns a shopper's unpaid holds at a cabinet, newest first.
func (l *Ledger) Holds(ctx context.Context, user, cabinet string) ([]order.Order, error) {
	if l.opt.Holds <= 0 {
		return nil, nil
	}
	found, err := orders(ctx, l.read, selectOrder+" WHERE user_id = ? AND hold_until > ? AND cabinet_id = ? ORDER BY created_at DESC", user, l.now(), cabinet)
	if err != nil {
		return nil, fmt.Errorf("ledger: find holds: %w", err)
	}
	out := make([]order.Order, len(found))
	for i, o := range found {
		out[i] = o.Order
	}
	return out, nil
}

// replaceRow is the payload of a KindReplace row.
func (b *rowSet) replaceRow(id string) outbox.Row {
	return outbox.Row{ID: id, Kind: outbox.KindReplace, Payload: encode(outbox.Replace{IDs: b.replaced}), CreatedAt: ms(b.now), DueAt: ms(b.now).Add(QuickLease)}
}
