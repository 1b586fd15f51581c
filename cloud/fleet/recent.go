package fleet

import (
	"slices"

	"vendline/cloud/order"
)

// shownOrders is how many orders a page lists.
const shownOrders = 40

// orderView is an order as pages and reads see it.
type orderView struct {
	ID       string     `json:"id"`
	Cabinet  string     `json:"cabinet"`
	User     string     `json:"user"`
	Status   string     `json:"status"`
	Version  int64      `json:"version"`
	Amount   int64      `json:"amount"` // minor units
	Currency string     `json:"currency"`
	Created  int64      `json:"created"` // Unix ms
	Lines    []lineView `json:"lines"`
}

type lineView struct {
	SKU   string `json:"sku"`
	Qty   int    `json:"qty"`
	Price int64  `json:"price"`
}

func orderOf(o order.Order) orderView {
	v := orderView{ID: o.ID, Cabinet: o.Cabinet, User: o.User, Status: string(o.Status), Version: o.Version,
		Amount: o.Amount, Currency: o.Currency, Created: o.CreatedAt.UnixMilli(), Lines: make([]lineView, len(o.Lines))}
	for i, l := range o.Lines {
		v.Lines[i] = lineView{SKU: l.SKU, Qty: l.Qty, Price: l.Price}
	}
	return v
}

func ordersOf(list []order.Order) []orderView {
	out := make([]orderView, len(list))
	for i, o := range list {
		out[i] = orderOf(o)
	}
	return out
}

// recent is the newest orders, newest first, each at its highest version.
type recent struct {
	list  []order.Order
	dirty bool // changed since it was rendered
	changed
}

func (r *recent) add(o order.Order) {
	if len(r.list) == shownOrders && o.CreatedAt.Before(r.list[shownOrders-1].CreatedAt) {
		return
	}
	if i := slices.IndexFunc(r.list, func(p order.Order) bool { return p.ID == o.ID }); i >= 0 {
		if o.Version > r.list[i].Version {
			r.list[i], r.dirty = o, true
		}
		return
	}
	at, _ := slices.BinarySearchFunc(r.list, o, func(a, b order.Order) int { return b.CreatedAt.Compare(a.CreatedAt) })
	r.list = slices.Insert(r.list, at, o)
	r.list = r.list[:min(len(r.list), shownOrders)]
	r.dirty = true
}

// render makes the list what streams send, if it changed.
func (r *recent) render(sample int64) {
	if r.dirty || r.body == nil {
		r.set(ordersOf(r.list), sample)
		r.dirty = false
	}
}
