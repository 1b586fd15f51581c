package simulation

import (
	"maps"
	"slices"

	"vendline/cloud/ledger/ledgertest"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// model is the stock by the book, kept beside the real one: which orders are in
// force, and what physically happened. It is cloud/model's truth, for many
// cabinets and SKUs; the ledger must agree with it after every step.
type model struct {
	orders map[string]entry
	facts  map[string]entry
	sold   bool // some cabinet sold on its own
}

// entry is an order, or a fact, with what it takes from what can be sold; a
// fact may take less than nothing.
type entry struct {
	cabinet string
	takes   ledgertest.Stock
	force   bool
}

func newModel() *model { return &model{orders: map[string]entry{}, facts: map[string]entry{}} }

// stands notes where an order stands now.
func (m *model) stands(o order.Order) {
	e := entry{o.Cabinet, ledgertest.Stock{}, o.Status == order.PreReserved || o.Status == order.Consumed}
	for _, l := range o.Lines {
		e.takes[l.SKU] += int64(l.Qty)
	}
	m.orders[o.ID] = e
}

// happens notes a fact, once.
func (m *model) happens(cabinet string, e wire.Event) {
	sign := int64(0)
	switch e.Fact.Kind {
	case wire.FactSale:
		sign, m.sold = 1, true
	case wire.FactRestock:
		sign = -1
	}
	takes := ledgertest.Stock{}
	for _, l := range e.Fact.Lines {
		takes[l.SKU] += sign * int64(l.Qty)
	}
	m.facts[e.ID] = entry{cabinet, takes, true}
}

// truth is what can be sold at a cabinet.
func (m *model) truth(cabinet string) ledgertest.Stock {
	left := opening()
	for _, all := range []map[string]entry{m.orders, m.facts} {
		for _, e := range all {
			if e.cabinet != cabinet || !e.force {
				continue
			}
			for sku, n := range e.takes {
				left[sku] -= n
			}
		}
	}
	return left
}

// adopt takes over what a step decided by itself: who loses in a shortage, and
// facts that close an account. It may roll back and book, and nothing else.
func (w *world) adopt(cabinets ...string) {
	for _, c := range cabinets {
		w.adoptOrders(c)
		w.adoptFacts(c)
	}
}

func (w *world) adoptOrders(cabinet string) {
	rows, err := w.db.QueryContext(w.ctx, "SELECT order_sn, status FROM trade_order WHERE cabinet_id = ? ORDER BY order_sn", cabinet)
	w.check("read orders", err)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id, status string
		w.check("read an order", rows.Scan(&id, &status))
		e, known := w.model.orders[id]
		force := status == string(order.PreReserved) || status == string(order.Consumed)
		switch {
		case force && (!known || !e.force):
			w.say("order %s came into force by itself", id)
		case known && e.force && !force:
			e.force = false
			w.model.orders[id] = e
		}
	}
}

func (w *world) adoptFacts(cabinet string) {
	rows, err := w.db.QueryContext(w.ctx, `SELECT f.fact_id, f.kind, l.sku_id, l.qty FROM trade_fact f JOIN trade_fact_line l ON l.fact_id = f.fact_id
		WHERE f.cabinet_id = ? ORDER BY f.fact_id, l.sku_id`, cabinet)
	w.check("read facts", err)
	if err != nil {
		return
	}
	defer rows.Close()
	fresh := map[string]entry{}
	for rows.Next() {
		var id, kind, sku string
		var n int64
		w.check("read a fact", rows.Scan(&id, &kind, &sku, &n))
		if _, known := w.model.facts[id]; known {
			continue
		}
		if !slices.Contains([]string{"RETURN", "LOSS", "DRIFT"}, kind) {
			w.say("fact %s, a %s, happened by itself", id, kind)
		}
		if fresh[id].takes == nil {
			fresh[id] = entry{cabinet, ledgertest.Stock{}, true}
		}
		if kind != "LOSS" {
			n = -n
		}
		fresh[id].takes[sku] += n
	}
	maps.Copy(w.model.facts, fresh)
}

// compareModel holds the ledger to the model, and each stock row to itself.
func (w *world) compareModel(step string) {
	for _, why := range w.refused {
		w.say("after %s: the database refuses a statement: %s", step, why)
	}
	w.refused = nil
	for _, c := range cabinetIDs() {
		want := w.model.truth(c)
		truth, err := ledgertest.Truth(w.ctx, w.db, c, opening())
		w.check("read the truth", err)
		if err == nil && !ledgertest.Same(truth, want) {
			w.say("after %s: the ledger's orders and facts leave %v at %s, the model says %v", step, truth, c, want)
		}
		for _, sku := range slices.Sorted(maps.Keys(want)) {
			if want[sku] < 0 && !w.lossy && !w.model.sold {
				w.say("after %s: %d %s of %s are promised and not there", step, -want[sku], sku, c)
			}
		}
	}
	var bad int
	w.check("read stock rows", w.db.QueryRowContext(w.ctx, `SELECT COUNT(*) FROM trade_sku_stock
		WHERE total <> available + locked + sold OR total < 0 OR available < 0 OR locked < 0 OR sold < 0`).Scan(&bad))
	if bad > 0 {
		w.say("after %s: %d stock rows do not add up", step, bad)
	}
}
