package fleet

import (
	"slices"

	"vendline/cloud/order"
)

// shownOrders is how many orders a page lists.
const shownOrders = 40

// orderView is an order as pages and reads see it. Null is unknown.
type orderView struct {
	ID       string     `json:"id"`
	Cabinet  string     `json:"cabinet"`
	User     string     `json:"user"`
	Status   string     `json:"status"`
	Version  int64      `json:"version"`
	Amount   int64      `json:"amount"` // minor units
	Currency string     `json:"currency"`
	Created  int64      `json:"created"` // Unix ms
	Payment  *string    `json:"payment"` // unpaid, paid, refunding, refunded, void
	Lines    []lineView `json:"lines"`
}

type lineView struct {
	SKU     string `json:"sku"`
	Qty     int    `json:"qty"`
	Price   int64  `json:"price"`
	State   string `json:"state,omitempty"` // missing: not known yet
	Dropped int    `json:"dropped"`
}

// orderOf is an order with where its money is: nil when nobody has looked, empty
// when none came.
func orderOf(o order.Order, standing *string) orderView {
	v := orderView{ID: o.ID, Cabinet: o.Cabinet, User: o.User, Status: string(o.Status), Version: o.Version,
		Amount: o.Amount, Currency: o.Currency, Created: o.CreatedAt.UnixMilli(), Payment: paymentOf(o.Status, standing), Lines: make([]lineView, len(o.Lines))}
	for i, l := range o.Lines {
		v.Lines[i] = lineView{SKU: l.SKU, Qty: l.Qty, Price: l.Price, State: string(l.State), Dropped: l.Dropped}
	}
	return v
}

func paymentOf(s order.Status, standing *string) *string {
	switch {
	case standing == nil || *standing != "":
		return standing
	case s == order.Consumed:
		return ref("paid")
	case s == order.RolledBack:
		return ref("void")
	}
	return ref("unpaid")
}

// recent is the newest orders, newest first, each at its highest version.
type recent struct {
	list     []order.Order
	standing map[string]string // of those that were read; see orderOf
	dirty    bool              // changed since it was rendered
	changed
}

// add takes an order that was seen, without its money.
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
	for _, old := range r.list[min(len(r.list), shownOrders):] {
		delete(r.standing, old.ID)
	}
	r.list = r.list[:min(len(r.list), shownOrders)]
	r.dirty = true
}

// read takes what the ledger says of an order on the list, unless more is known.
func (r *recent) read(o order.Order, standing string) {
	i := slices.IndexFunc(r.list, func(p order.Order) bool { return p.ID == o.ID })
	if i < 0 || o.Version < r.list[i].Version {
		return
	}
	if r.standing == nil {
		r.standing = map[string]string{}
	}
	r.list[i], r.standing[o.ID], r.dirty = o, standing, true
}

// render makes the list what streams send, if it changed.
func (r *recent) render(sample int64) {
	if !r.dirty && r.body != nil {
		return
	}
	views := make([]orderView, len(r.list))
	for i, o := range r.list {
		var standing *string
		if s, ok := r.standing[o.ID]; ok {
			standing = &s
		}
		views[i] = orderOf(o, standing)
	}
	r.set(views, sample)
	r.dirty = false
}
