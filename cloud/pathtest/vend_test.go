package pathtest

import (
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// undropped is the value of what an order's cabinet did not let out.
func (p *process) undropped(o order.Order) (n int64) {
	for _, l := range o.Lines {
		n += int64(l.Qty-l.Dropped) * l.Price
	}
	return n
}

// called reports whether a person looks at units that dropped after their refund.
func (p *process) called(o order.Order) bool {
	p.t.Helper()
	var n int
	p.ok(p.db.QueryRowContext(p.ctx, "SELECT COUNT(*) FROM trade_case WHERE kind = 'vended_refunded' AND order_sn = ?", o.ID).Scan(&n))
	return n > 0
}

// vendPoints are the steps between a payment and what came out, or back.
var vendPoints = [...]string{
	"before transition commit", "after transition commit", // the command is written
	"before wake", "after wake",
	"before offer", "after offer",
	"before report commit", "after report commit", // the refund is written
	"before abandon", "after abandon",
	"before refund made", "after refund made",
	"before finish return", "after finish return",
}

// vendStory meets all ways a paid order can end.
func vendStory(p *process, c *shoppers) {
	m := &p.site.machine
	buy := func(name string, cola, chips int) {
		c.place(p, name, cola, chips)
		c.start(p, name, "till")
		c.payAt(p, name, "till")
		c.callback(p, name, "till")
		p.carryMoney()
	}
	m.result = func(l wire.Line) (wire.DispenseState, int) {
		switch {
		case l.Qty == 3:
			return wire.Expired, 0
		case l.SKU == "chips":
			return wire.Failed, l.Qty - 1
		}
		return wire.Dispensed, l.Qty
	}
	m.unsure = func(l wire.Line) bool { return l.SKU == "chips" }
	for _, happens := range []func(){
		func() { buy("ann", 1, 0); p.turn() }, // drops
		func() { buy("bob", 1, 2); p.turn() }, // one of the chips jams, and at first nobody can tell
		func() { buy("cid", 3, 0) },           // expires
		func() { p.pumpMoney() },
		func() { p.pumpMoney() },
		func() { m.off = true; buy("dan", 1, 0) }, // never heard of
		func() { p.site.pass(3 * time.Minute); p.pumpMoney() },
		func() { m.off = false; buy("eve", 2, 0); p.ask(); m.off = true }, // heard of, and then silence
		func() { p.site.pass(3 * time.Minute); p.pumpMoney() },
		func() { m.off = false; p.pumpMoney() }, // it had dropped
		func() { p.pumpMoney() },
	} {
		if p.killed() {
			return
		}
		happens()
	}
}

func TestTheStoryOfVendingMeetsEveryPointAndEndsExact(t *testing.T) {
	s, c := newSite(t), newShoppers()
	p := s.start(nil)
	defer p.end()
	vendStory(p, c)
	for _, point := range vendPoints {
		if p.hits[point] == 0 {
			t.Errorf("nothing happens %s", point)
		}
	}
	p.quiet()
	for name, want := range map[string]struct {
		dropped []int
		back    int64
	}{"ann": {[]int{1}, 0}, "bob": {[]int{1, 1}, 300}, "cid": {[]int{0}, 750}, "dan": {[]int{0}, 250}, "eve": {[]int{2}, 500}} {
		o, err := p.books.Find(s.ctx, c.ids[name])
		s.ok(err)
		var back int64
		s.ok(s.db.QueryRowContext(s.ctx, "SELECT COALESCE(SUM(amount), 0) FROM trade_refund WHERE order_sn = ? AND status = 'done'", o.ID).Scan(&back))
		for i, l := range o.Lines {
			if l.Dropped != want.dropped[i] {
				t.Errorf("%s: %d %s dropped", name, l.Dropped, l.SKU)
			}
		}
		if back != want.back {
			t.Errorf("%s: %d went back, want %d", name, back, want.back)
		}
	}
	for _, w := range p.moneyVerdict(c.customers) {
		t.Error(w)
	}
}

// A process that dies between any two steps of a command, each time it passes
// there: the next one ends with goods or money for everybody, and the cabinet
// vends nothing twice.
func TestVendingSurvivesADeathAtAnyPoint(t *testing.T) {
	for i, point := range vendPoints {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			hit := 1
			for vendDies(t, point, hit, (i+hit)%2 == 0) && !testing.Short() {
				hit++
			}
		})
	}
}

func vendDies(t *testing.T, point string, hit int, sweptFirst bool) bool {
	t.Helper()
	s, c := newSite(t), newShoppers()
	p := s.start(func(at string, n int) bool { return at == point && n == hit })
	vendStory(p, c)
	died := p.killed()
	p.end()
	s.machine.off = false
	next := s.start(nil)
	defer next.end()
	if sweptFirst {
		s.pass(time.Minute)
		next.pumpMoney()
	}
	vendStory(next, c)
	s.machine.off = false
	next.quiet()
	for _, w := range next.moneyVerdict(c.customers) {
		t.Errorf("killed %s, time %d, swept first %v: %s", point, hit, sweptFirst, w)
	}
	return died
}
