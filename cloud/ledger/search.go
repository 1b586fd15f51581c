package ledger

import (
	"context"
	"fmt"
	"strings"

	"vendline/cloud/order"
)

// searched is how many of the fleet's newest orders are looked through for one
// that names neither cabinet nor shopper: no index leads there.
const searched = 10_000

// Search returns up to n orders, newest first, of a cabinet, a shopper and in a
// state; what is empty is any. Without cabinet and shopper only the newest
// orders of the fleet are looked through.
func (l *Ledger) Search(ctx context.Context, cabinet, user string, status order.Status, n int) ([]order.Order, error) {
	var where []string
	var args []any
	by := "created_at"
	if cabinet != "" {
		where, args, by = append(where, "cabinet_id = ?"), append(args, cabinet), "changed_at"
	}
	if user != "" {
		where, args = append(where, "user_id = ?"), append(args, user)
	}
	if len(where) == 0 {
		where, by = append(where, "order_sn >= (SELECT COALESCE(MIN(order_sn), '') FROM (SELECT order_sn FROM trade_order ORDER BY order_sn DESC LIMIT "+itoa(searched)+") AS newest)"), "order_sn"
	}
	if status != "" {
		where, args = append(where, "status = ?"), append(args, string(status))
	}
	found, err := orders(ctx, l.read, selectOrder+" WHERE "+strings.Join(where, " AND ")+" ORDER BY "+by+" DESC LIMIT "+itoa(n), args...)
	if err != nil {
		return nil, fmt.Errorf("ledger: search orders: %w", err)
	}
	return ordersOf(found), nil
}

// OrdersByID returns those of some orders that there are, in no order.
func (l *Ledger) OrdersByID(ctx context.Context, ids ...string) ([]order.Order, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := orders(ctx, l.read, selectOrder+" WHERE order_sn IN ("+marks(len(ids))+")", anys(ids)...)
	if err != nil {
		return nil, fmt.Errorf("ledger: read orders: %w", err)
	}
	return ordersOf(found), nil
}

// ordersOf drops what only the ledger needs to know.
func ordersOf(found []stored) []order.Order {
	out := make([]order.Order, len(found))
	for i, o := range found {
		out[i] = o.Order
	}
	return out
}
