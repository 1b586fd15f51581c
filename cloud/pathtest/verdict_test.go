package pathtest

import (
	"errors"
	"fmt"

	"vendline/cloud/ledger/ledgertest"
	"vendline/cloud/order"
)

// verdict is what is wrong once all is quiet: the invariants, and what
// customers were told.
func (p *process) verdict(c *customers) []string {
	p.t.Helper()
	wrong := append([]string(nil), c.wrong...)
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if n := p.waiting(); n > 0 {
		say("%d rows, messages or holds never settle", n)
	}
	if n, err := p.books.CountLetters(p.ctx); n != 0 || err != nil {
		say("%d dead letters, %v", n, err)
	}
	audit, err := ledgertest.Audit(p.ctx, p.db, map[string]ledgertest.Stock{cabinet: p.opening})
	p.ok(err)
	wrong = append(wrong, audit...)
	truth, err := ledgertest.Truth(p.ctx, p.db, cabinet, p.opening)
	p.ok(err)
	rows, err := p.books.Stock(p.ctx, cabinet)
	p.ok(err)
	available := ledgertest.Stock{}
	for _, r := range rows {
		available[r.SKU] = r.Available
	}
	if !ledgertest.Same(available, truth) {
		say("available is %v, the truth is %v", available, truth)
	}
	if redis, err := p.stock.Sellable(p.ctx, cabinet); err != nil || !ledgertest.Same(redis, available) {
		say("Redis sells %v, available is %v (%v)", redis, available, err)
	}
	for id, first := range c.first {
		o, err := p.books.Find(p.ctx, id)
		switch {
		case errors.Is(err, order.ErrUnknown):
			say("%s was accepted, and is gone", id)
		case err != nil || !o.Status.Final():
			say("%s stands at %s (%v)", id, o.Status, err)
		case !o.SameContent(first):
			say("%s became another order", id)
		case c.paid[id] && o.Status != order.Consumed:
			say("%s is paid, and stands at %s", id, o.Status)
		}
	}
	for id := range c.facts {
		var n int
		p.ok(p.db.QueryRowContext(p.ctx, "SELECT COUNT(*) FROM trade_fact WHERE fact_id = ?", id).Scan(&n))
		if n != 1 {
			say("fact %s was recorded %d times", id, n)
		}
	}
	return wrong
}
