package deduct

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vendline/cloud/order"
	"vendline/lua"
)

// taking is one basket on its way. Keys, numbers and arguments lie inside it,
// so that asking costs few allocations: the command points into it.
type taking struct {
	basket order.Basket
	keys   lua.Keys
	now    int64
	call   call
	room   [32]any // arguments of a basket of up to 10 SKUs
}

// Deduct takes b's items, all or none, once per (id, version); see order.Stock.
// A basket with a limit counts as a whole towards its user's 24 hours.
func (s *Stock) Deduct(ctx context.Context, b order.Basket) (order.Taken, error) {
	b.Items = canonical(b.Items)
	t := &taking{basket: b, keys: lua.KeysOf(b.Cabinet, b.ID, b.User)}
	if err := s.lane(b.Cabinet).Do(ctx, t); err != nil {
		return order.Taken{}, fmt.Errorf("deduct %s: %w", b.ID, err)
	}
	r := t.call.reply
	if err := r.refused(); err != nil {
		return order.Taken{}, err
	}
	return order.Taken{
		Run:      r.run(),
		Seen:     r.code == lua.Seen,
		Released: r.code == lua.Seen && r.text(1) == Released,
	}, nil
}

// take carries a pipeline of baskets.
func (s *Stock) take(ctx context.Context, items []*taking) []error {
	now := s.opt.Now().UnixMilli()
	calls := make([]*call, len(items))
	for i, t := range items {
		t.now = now
		t.call.script, t.call.args = &s.lua.Deduct, s.ask(t)
		calls[i] = &t.call
	}
	s.run(ctx, calls)
	errs := make([]error, len(items))
	for i, t := range items {
		errs[i] = t.call.err
	}
	return errs
}

// ask builds the arguments of batch_deduct_stock. Its first key is a plain
// string, since a cluster client reads the slot from it.
func (s *Stock) ask(t *taking) []any {
	b := &t.basket
	limited := b.User != "" && slices.ContainsFunc(b.Items, func(i order.Item) bool { return i.Limit > 0 })
	keys := 3
	if limited {
		keys = 4
	}
	args := append(evalsha(t.room[:0], &s.lua.Deduct, keys), t.keys.Stock, &t.keys.Mark, &t.keys.Resv)
	if limited {
		args = append(args, &t.keys.Limit)
	}
	args = append(args, &b.ID, &b.Version, &b.User, &t.now, &s.ttl)
	for i := range b.Items {
		args = append(args, &b.Items[i].SKU, &b.Items[i].Qty)
	}
	if limited {
		for i := range b.Items {
			args = append(args, &b.Items[i].Limit)
		}
	}
	return args
}

// canonical returns items merged and sorted by SKU, as they are compared by
// text with what was taken first. They mostly come so.
func canonical(items []order.Item) []order.Item {
	rising := true
	for i := 1; i < len(items) && rising; i++ {
		rising = items[i-1].SKU < items[i].SKU
	}
	if rising {
		return items
	}
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b order.Item) int { return strings.Compare(a.SKU, b.SKU) })
	merged := sorted[:1]
	for _, item := range sorted[1:] {
		last := &merged[len(merged)-1]
		if item.SKU != last.SKU {
			merged = append(merged, item)
			continue
		}
		last.Qty += item.Qty
	}
	return merged
}
