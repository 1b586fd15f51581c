package simulation

import (
	"errors"

	"vendline/cloud/ledger/ledgertest"
	"vendline/cloud/order"
	"vendline/cloud/payment"
)

// waiting is how much is not settled yet: invariant 7.
func (w *world) waiting() (n int) {
	for _, q := range []string{
		"SELECT COUNT(*) FROM local_msg",
		"SELECT COUNT(*) FROM trade_order WHERE status IN ('INIT', 'PRE_RESERVED')",
	} {
		var some int
		w.check("count", w.db.QueryRowContext(w.ctx, q).Scan(&some))
		n += some
	}
	for _, c := range cabinetIDs() {
		if holds, err := w.clouds[0].stock.Held(w.ctx, c, 0); err != nil || len(holds) > 0 {
			n++
		}
	}
	for _, c := range w.cabinets {
		s := c.journal.Status()
		n += int(c.box.Depth()) + s.Ready + s.Dispensing + len(c.log)
	}
	return n + len(w.queue.msgs) + len(w.post)
}

// judge is the design's §10, once all is quiet.
func (w *world) judge() {
	p := w.clouds[0]
	if n := w.waiting(); n > 0 {
		w.say("%d rows, messages or holds never settle", n)
	}
	n, err := p.books.CountLetters(w.ctx)
	w.check("count letters", err)
	if n != 0 {
		w.say("%d dead letters", n)
	}
	start := map[string]ledgertest.Stock{}
	for _, c := range cabinetIDs() {
		start[c] = opening()
	}
	audit, err := ledgertest.Audit(w.ctx, w.db, start)
	w.check("audit", err)
	for _, a := range audit {
		w.say("%s", a)
	}
	w.compareModel("all")
	for _, c := range w.cabinets {
		w.judgeStock(p, c)
		w.judgeEvents(c)
	}
	p.compareAtRest()
	w.judgeOrders(p)
	w.judgeMoney(p)
}

// compareAtRest reconciles: there must be nothing to repair.
func (p *cloud) compareAtRest() {
	lossy := p.w.lossy
	p.w.lossy = false
	p.w.finish(p.w.begin("reconcile", p, func() { p.compare(false) }))
	p.w.lossy = lossy
}

// judgeStock: what Redis sells, what the ledger has and what is true are one.
func (w *world) judgeStock(p *cloud, c *cabinet) {
	rows, err := p.books.Stock(w.ctx, c.id)
	w.check("read stock", err)
	available := ledgertest.Stock{}
	for _, r := range rows {
		available[r.SKU] = r.Available
	}
	if truth := w.model.truth(c.id); !ledgertest.Same(available, truth) {
		w.say("available at %s is %v, the model says %v", c.id, available, truth)
	}
	// A command that its cabinet never spoke of leaves units in the slot that the
	// ledger takes for gone, until somebody counts them; never the other way.
	for sku, n := range available {
		if n > c.units[sku] || n < c.units[sku] && !w.abandoned {
			w.say("available at %s are %d %s, in its slots are %d", c.id, n, sku, c.units[sku])
		}
	}
	if redis, err := p.stock.Sellable(w.ctx, c.id); err != nil || !ledgertest.Same(redis, available) {
		w.say("Redis sells %v at %s, available is %v (%v)", redis, c.id, available, err)
	}
}

// judgeEvents: every event that a cabinet promised to keep is in the ledger once.
func (w *world) judgeEvents(c *cabinet) {
	for _, id := range sorted(c.kept) {
		table, key := "trade_fact", "fact_id"
		if c.orders[id] {
			f, err := c.box.Lookup(id)
			if err != nil || !f.Settled {
				w.say("%s does not know what became of order %s: %v", c.id, id, err)
			}
			if f.Outcome.Code != "accepted" {
				continue // refused, and told so
			}
			table, key = "trade_order", "order_sn"
		}
		var n int
		w.check("count events", w.db.QueryRowContext(w.ctx, "SELECT COUNT(*) FROM "+table+" WHERE "+key+" = ?", id).Scan(&n))
		if n != 1 {
			w.say("event %s of %s is in %s %d times", id, c.id, table, n)
		}
	}
}

// judgeOrders: every order that was accepted has come to an end.
func (w *world) judgeOrders(p *cloud) {
	for _, id := range sorted(w.people.first) {
		o, err := p.books.Find(w.ctx, id)
		switch {
		case errors.Is(err, order.ErrUnknown):
			w.say("order %s was accepted, and is gone", id)
		case err != nil || !o.Status.Final():
			w.say("order %s stands at %s (%v)", id, o.Status, err)
		case !o.SameContent(w.people.first[id]):
			w.say("order %s became another one", id)
		}
	}
	w.check("count losers", w.db.QueryRowContext(w.ctx, "SELECT COUNT(*) FROM trade_order WHERE cause = 'stock short'").Scan(&w.lost))
	if w.lost > 0 && !w.lossy && !w.model.sold {
		w.say("%d holds were lost to a shortage though Redis lost nothing", w.lost)
	}
}

// judgeMoney: what was paid dropped, or went back, to the cent; nothing twice.
func (w *world) judgeMoney(p *cloud) {
	for _, no := range sorted(w.till.charges) {
		charge := w.till.charges[no]
		id, _ := payment.OrderOf(no)
		o, err := p.books.Find(w.ctx, id)
		if err != nil {
			continue // closed, and never an order
		}
		a, err := p.books.Account(w.ctx, id)
		w.check("read an account", err)
		var status payment.Status
		for _, x := range a.Payments {
			status = x.Status
		}
		var undropped int64
		for _, l := range o.Lines {
			undropped += int64(l.Qty-l.Dropped) * l.Price
		}
		vends := status == payment.StatusPaid && o.Status == order.Consumed
		var called int
		w.check("count cases", w.db.QueryRowContext(w.ctx, "SELECT COUNT(*) FROM trade_case WHERE kind = 'vended_refunded' AND order_sn = ?", id).Scan(&called))
		switch {
		case charge.state == payment.Unpaid:
			w.say("%s may still be paid, and stands at %s", id, o.Status)
		case charge.state != payment.Paid:
		case vends && charge.back != undropped && !(charge.back > undropped && called > 0):
			w.say("%s dropped all but %d, and %d went back", id, undropped, charge.back)
		case !vends && charge.back != charge.Amount.Minor:
			w.say("%s is %q, stands at %s, and %d of %s went back", id, status, o.Status, charge.back, charge.Amount)
		}
	}
}
