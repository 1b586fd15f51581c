package ledgertest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func offline() []promise {
	return []promise{
		{"offline: at zero the sale stands, unpaid orders lose first, then paid ones nobody heard of", offlineLosers},
		{"offline: a paid order that is offered is refunded by its cabinet's own word, and stock is what is there", offlineOffered},
		{"offline: what sold out is suspended until somebody counts or refills", offlineSuspended},
		{"offline: 200 sales in eight hours, replayed in any order and twice, leave what is there", offlineReplay},
		{"offline: a view of the stock names the sales it counts", offlineCounted},
		{"whatever a cabinet does, and in whatever order it is heard, stock is what is there", machines},
	}
}

func offlineLosers(t *testing.T, f *Fixture) {
	heard := f.paid(line("cola", 2))
	f.offer()
	f.Pass(time.Second)
	older := f.paid(line("cola", 2))
	f.Pass(time.Second)
	newer := f.paid(line("cola", 2))
	f.Pass(time.Second)
	held := f.place(line("cola", 2))
	f.take(f.factAt(cabinet, statement.Sale, wire.Line{SKU: "cola", Qty: 6}))
	if o := f.find(held.ID); o.Status != order.RolledBack {
		t.Errorf("the hold stands at %s", o.Status)
	}
	f.wantCommand(newer, "withdrawn")
	f.wantCommand(older, "open")
	f.wantCommand(heard, "open")
	f.wantRefunds(newer, map[string]int64{"cola": 200})
	if o := f.find(newer.ID); o.Status != order.Consumed {
		t.Errorf("the paid order stands at %s", o.Status)
	}
	f.wantStock("cola", 0, 0, 10)
	f.wantFaults() // the books were right: nothing is booked as drift
	f.wantCases(order.CaseShortage)
}

func offlineOffered(t *testing.T, f *Fixture) {
	o := f.paid(line("cola", 3))
	f.offer()
	f.take(f.factAt(cabinet, statement.Sale, wire.Line{SKU: "cola", Qty: 9})) // ten were there
	f.wantFaults("C1/cola/cola")
	f.report(o, wire.DispenseLine{SKU: "cola", State: wire.Failed, Units: 1})
	f.wantRefunds(o, map[string]int64{"cola": 200})
	if r := f.stock("cola"); r.Available != 0 || r.Sold != 10 || r.Total != 10 {
		t.Errorf("%+v, and none is there", r)
	}
}

func offlineSuspended(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	for _, again := range []func(){
		func() { f.take(g.fact(statement.Restock, wire.Line{SKU: "cola", Qty: 1})) },
		func() { f.count1(g.count(map[string]int{"cola": 1})) },
		func() { f.count1(g.count(map[string]int{"chips": 1}, wire.Line{SKU: "cola", Qty: 1})) },
	} {
		f.take(g.fact(statement.Sale, wire.Line{SKU: "cola", Qty: 11}))
		f.wantFaults("C1/cola/cola")
		again()
		f.wantFaults()
	}
}

func offlineReplay(t *testing.T, f *Fixture) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := fmt.Sprint("N", seed)
		f.AddStock(c, map[string]int64{"cola": 120, "chips": 120})
		g := f.log(c)
		// Sold in the cloud, and heard of, before the line was cut; and meanwhile.
		var orders []order.Order
		for i := range 8 {
			orders = append(orders, f.paidAt(c, line("cola", 1+i%3)))
			if i == 3 {
				f.ok(second(f.OpenCommands(f.ctx, c)))
			}
		}
		// 115 cola and 120 chips were there all the time.
		left := map[string]int{"cola": 115, "chips": 120}
		var deliver []func()
		for range 200 {
			sku := []string{"chips", "cola", "cola"}[rng.IntN(3)]
			if left[sku] == 0 {
				sku = map[string]string{"chips": "cola", "cola": "chips"}[sku]
			}
			left[sku]--
			sale := g.fact(statement.Sale, wire.Line{SKU: sku, Qty: 1})
			deliver = append(deliver, func() { f.ok(f.Record(f.ctx, sale)) })
		}
		for _, o := range orders[:4] {
			qty := o.Lines[0].Qty
			n := min(left["cola"], qty)
			left["cola"] -= n
			state := wire.Dispensed
			if n < qty {
				state = wire.Failed
			}
			fact, d := g.report(o, wire.DispenseLine{SKU: "cola", State: state, Units: n})
			deliver = append(deliver, func() { f.ok(f.RecordDispense(f.ctx, fact, d)) })
		}
		count := g.count(left)
		deliver = append(deliver, func() { f.ok(f.RecordCount(f.ctx, count)) })
		deliver = append(deliver, deliver[:60]...)
		f.Pass(8 * time.Hour)
		for i, at := range rng.Perm(len(deliver)) {
			deliver[at]()
			if i%40 == 0 {
				f.settleAll()
			}
		}
		f.settleAll()
		for _, o := range orders[4:] {
			f.giveUp(o)
		}
		f.settleAll()
		got, err := f.Sellable(f.ctx, c)
		f.ok(err)
		if want := (Stock{"chips": int64(left["chips"]), "cola": int64(left["cola"])}); !Same(got, want) {
			t.Errorf("seed %d: to sell are %v, there are %v", seed, got, want)
		}
	}
}

func offlineCounted(t *testing.T, f *Fixture) {
	units, none, err := f.SellableCounting(f.ctx, cabinet)
	f.ok(err)
	if none.Has("any", 1, true) || none.Epoch != "" {
		t.Errorf("of a cabinet that was never heard: %+v", none)
	}
	g := f.log(cabinet)
	first := g.fact(statement.Sale, wire.Line{SKU: "cola", Qty: 1})
	late := g.fact(statement.Sale, wire.Line{SKU: "cola", Qty: 2})
	third := g.fact(statement.Sale, wire.Line{SKU: "cola", Qty: 3})
	f.ok(f.Record(f.ctx, first))
	f.ok(f.Record(f.ctx, third))
	left, c, err := f.SellableCounting(f.ctx, cabinet)
	f.ok(err)
	if got := units["cola"] - left["cola"]; got != 4 {
		t.Errorf("%d units are gone, want 4", got)
	}
	for seq, want := range map[int64]bool{1: true, 2: false, 3: true, 4: false} {
		if c.Has(g.epoch, seq, true) != want {
			t.Errorf("sale %d is counted: %v", seq, !want)
		}
	}
	f.Pass(7 * time.Hour) // the others are told no more; the late one is
	f.ok(f.Record(f.ctx, late))
	_, now, err := f.SellableCounting(f.ctx, cabinet)
	f.ok(err)
	if !now.Has(g.epoch, 2, true) || c.Before(c) || !c.Before(now) {
		t.Errorf("after the late sale: %+v", now)
	}
	for range 3000 {
		g.seq++
	}
	f.ok(f.Record(f.ctx, g.fact(statement.Restock, wire.Line{SKU: "cola", Qty: 1})))
	f.Pass(7 * time.Hour)
	_, now, err = f.SellableCounting(f.ctx, cabinet)
	f.ok(err)
	if now.Before(c) || !now.Has(g.epoch, 1, true) || now.Has(g.epoch, 1, false) || now.Has(g.epoch, g.seq+1, true) {
		t.Errorf("long after: %+v", now)
	}
}

func machines(t *testing.T, f *Fixture) {
	for seed := range uint64(25) {
		m := newMachine(f, seed)
		for range 70 {
			m.step()
		}
		m.end()
		got, err := f.Sellable(f.ctx, m.log.cabinet)
		f.ok(err)
		for sku := range m.counted {
			if got[sku] != int64(m.there[sku]) {
				t.Errorf("seed %d: %d %s to sell, %d are there", seed, got[sku], sku, m.there[sku])
			}
		}
	}
}

// machine is a cabinet with units in it, and a cloud that hears of what it does
// late, twice and out of order.
type machine struct {
	f       *Fixture
	rng     *rand.Rand
	log     *log
	there   map[string]int
	counted map[string]bool
	vends   map[string]wire.Vend // heard of, and not begun
	known   map[string]bool      // commands ever heard of
	orders  map[string]order.Order
	unheard []func()
	sent    []func()
}

func newMachine(f *Fixture, seed uint64) *machine {
	m := &machine{f: f, rng: rand.New(rand.NewPCG(seed, 3)), log: f.log(fmt.Sprint("M", seed)), counted: map[string]bool{},
		vends: map[string]wire.Vend{}, known: map[string]bool{}, orders: map[string]order.Order{}}
	f.AddStock(m.log.cabinet, map[string]int64{"chips": 8, "cola": 8})
	m.there = map[string]int{"chips": 6 + m.rng.IntN(5), "cola": 6 + m.rng.IntN(5)} // nobody knows
	return m
}

func (m *machine) sku() string { return []string{"chips", "cola"}[m.rng.IntN(2)] }

func (m *machine) say(deliver func()) { m.unheard = append(m.unheard, deliver) }

func (m *machine) step() {
	switch x := m.rng.IntN(100); {
	case x < 16:
		m.buy()
	case x < 26:
		m.ask()
	case x < 40:
		m.vend()
	case x < 50:
		m.sell()
	case x < 56:
		m.refill(m.rng.IntN(2) == 0)
	case x < 60:
		m.take()
	case x < 85:
		m.hear()
	case x < 92:
		m.f.settleAll()
	default:
		m.f.Pass(40 * time.Second)
		m.giveUp()
	}
}

// buy is a shopper of the cloud's.
func (m *machine) buy() {
	sku, n := m.sku(), 1+m.rng.IntN(2)
	have, err := m.f.Sellable(m.f.ctx, m.log.cabinet)
	m.f.ok(err)
	if have[sku] < int64(n) {
		return
	}
	o := m.f.paidAt(m.log.cabinet, line(sku, n))
	m.orders[o.ID] = o
}

func (m *machine) ask() {
	vends, err := m.f.OpenCommands(m.f.ctx, m.log.cabinet)
	m.f.ok(err)
	if m.rng.IntN(4) == 0 {
		return // the answer is lost
	}
	for _, v := range vends {
		if !m.known[v.ID] {
			m.known[v.ID], m.vends[v.ID] = true, v
		}
	}
}

func (m *machine) vend() {
	ids := sortedIDs(m.vends)
	if len(ids) == 0 {
		return
	}
	v := m.vends[ids[0]]
	delete(m.vends, ids[0])
	l := v.Lines[0]
	n := min(l.Qty, m.there[l.SKU])
	result := wire.DispenseLine{SKU: l.SKU, State: wire.Dispensed, Units: n}
	switch x := m.rng.IntN(10); {
	case x == 0:
		n, result = 0, wire.DispenseLine{SKU: l.SKU, State: wire.Expired}
	case x < 3:
		n = min(n, m.rng.IntN(l.Qty))
		result = wire.DispenseLine{SKU: l.SKU, State: wire.Failed, Units: n}
	case n < l.Qty:
		result = wire.DispenseLine{SKU: l.SKU, State: wire.Failed, Units: n}
	}
	m.there[l.SKU] -= n
	if m.rng.IntN(4) == 0 && result.State != wire.Expired {
		m.report(v, wire.DispenseLine{SKU: l.SKU, State: wire.Uncertain})
		if m.rng.IntN(2) == 0 {
			m.take() // somebody looks before the firmware is back
		}
	}
	m.report(v, result)
}

func (m *machine) report(v wire.Vend, l wire.DispenseLine) {
	fact, d := m.log.report(m.orders[v.Order], l)
	m.say(func() { m.f.ok(m.f.RecordDispense(m.f.ctx, fact, d)) })
}

func (m *machine) sell() {
	sku := m.sku()
	if m.there[sku] == 0 {
		return
	}
	m.there[sku]--
	fact := m.log.fact(statement.Sale, wire.Line{SKU: sku, Qty: 1})
	m.say(func() { m.f.ok(m.f.Record(m.f.ctx, fact)) })
}

func (m *machine) refill(count bool) {
	sku, n := m.sku(), 1+m.rng.IntN(4)
	if !count {
		m.there[sku] += n
		fact := m.log.fact(statement.Restock, wire.Line{SKU: sku, Qty: n})
		m.say(func() { m.f.ok(m.f.Record(m.f.ctx, fact)) })
		return
	}
	other := m.sku()
	c := m.log.count(map[string]int{other: m.there[other]}, wire.Line{SKU: sku, Qty: n})
	m.counted[other] = true
	m.there[sku] += n
	m.say(func() { m.f.ok(m.f.RecordCount(m.f.ctx, c)) })
}

func (m *machine) take() {
	skus := []string{"chips", "cola"}
	if m.rng.IntN(2) == 0 {
		skus = []string{m.sku()}
	}
	m.takeOf(skus...)
}

func (m *machine) takeOf(skus ...string) {
	units := map[string]int{}
	for _, sku := range skus {
		units[sku] = 0
	}
	for sku := range units {
		units[sku], m.counted[sku] = m.there[sku], true
	}
	c := m.log.count(units)
	m.say(func() { m.f.ok(m.f.RecordCount(m.f.ctx, c)) })
}

// hear delivers something, out of order and now and then again.
func (m *machine) hear() {
	if len(m.sent) > 0 && m.rng.IntN(4) == 0 {
		m.sent[m.rng.IntN(len(m.sent))]()
	}
	if len(m.unheard) == 0 {
		return
	}
	i := m.rng.IntN(len(m.unheard))
	next := m.unheard[i]
	m.unheard = append(m.unheard[:i], m.unheard[i+1:]...)
	m.sent = append(m.sent, next)
	next()
}

func (m *machine) giveUp() {
	for _, id := range sortedIDs(m.orders) {
		command, _ := m.f.commandOf(m.orders[id])
		m.f.ok(m.f.AbandonCommand(m.f.ctx, command, m.f.Now().Add(-90*time.Second)))
	}
}

// end lets the cabinet finish and be heard, and the cloud give up on the rest;
// somebody who counts is the last to speak of what the cloud never heard of.
func (m *machine) end() {
	for len(m.vends) > 0 {
		m.vend()
	}
	m.f.Pass(5 * time.Minute)
	m.giveUp()
	for len(m.unheard) > 0 {
		m.hear()
	}
	m.f.settleAll()
	if n := m.f.count("SELECT COUNT(*) FROM trade_command WHERE cabinet_id = ? AND status = 'abandoned'", m.log.cabinet); n > 0 {
		m.takeOf("chips", "cola") // units of lost answers are where they were
		m.hear()
		m.f.settleAll()
	}
}

func sortedIDs[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
