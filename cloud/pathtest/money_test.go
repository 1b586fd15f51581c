package pathtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/payment"
)

// moneyPoints are the steps of an order's money between which a process can die.
var moneyPoints = [...]string{
	"before open payment", "after open payment", // … before the provider hears of it
	"before charge created", "after charge created", // … before the shopper does
	"before keep notice", "after keep notice", // … before the provider's answer
	"before transition commit", "after transition commit", // the money is booked, the callback not settled
	"before finish notice", "after finish notice",
	"before charge closed", "after charge closed", // … before our books say so
	"before close payment", "after close payment", // … before the order ends
	"before deduct", "after deduct", // among them the basket taken again
	"before return surplus", "after return surplus", // the refund stands in the late row's place
	"before refund made", "after refund made", // … before it is booked
	"before finish return", "after finish return",
	"before row delete", "after row delete",
}

// shoppers pay for what they ordered.
type shoppers struct {
	*customers
	heard map[string]bool // callbacks that were answered yes, by order and till
	back  map[string]bool // orders whose money must come back
	taken map[string]bool // orders that must be vended
}

func newShoppers() *shoppers {
	return &shoppers{customers: newCustomers(), heard: map[string]bool{}, back: map[string]bool{}, taken: map[string]bool{}}
}

// start asks for the order's charge.
func (c *shoppers) start(p *process, name string, tills ...string) {
	for _, t := range tills {
		_, err := p.money.Start(p.ctx, c.id(p, name), t)
		c.expectedPay(name, err)
	}
}

// expectedPay are the noes that somebody who pays may hear.
func (c *shoppers) expectedPay(name string, err error) {
	var no *order.Refusal
	if errors.As(err, &no) {
		return // closed meanwhile, or the till is away
	}
	c.expected(name, err)
}

// cancel ends an order, whose charge is closed first.
func (c *shoppers) cancel(p *process, name string) {
	_, err := p.orders.Cancel(p.ctx, c.id(p, name))
	c.expectedPay(name, err)
}

// payAt pays at a till, once.
func (c *shoppers) payAt(p *process, name, till string) {
	if c.once("pay " + name + till) {
		p.tills[till].pay(payment.TradeNo(c.id(p, name)))
	}
}

// callback sends a till's callback, until it is heard.
func (c *shoppers) callback(p *process, name, till string) {
	n, paid := p.tills[till].callback(payment.TradeNo(c.id(p, name)))
	if !paid || c.heard[name+till] {
		return
	}
	a, err := p.money.Notify(p.ctx, till, n)
	c.expected(name, err)
	if err == nil && a.Status == 200 && !p.killed() {
		c.heard[name+till] = true
	}
}

// look waits for an order, as a shopper's page does.
func (c *shoppers) look(p *process, name string) {
	_, err := p.orders.Wait(p.ctx, c.id(p, name), time.Millisecond)
	c.expected(name, err)
}

// moneyStory meets every step of an order's money.
func moneyStory(p *process, c *shoppers) {
	for _, happens := range []func(){
		func() { c.place(p, "ann", 1, 0) },
		func() { c.start(p, "ann", "till") },
		func() { c.payAt(p, "ann", "till"); c.callback(p, "ann", "till") },
		func() { p.pumpMoney() },
		func() { c.place(p, "bob", 1, 0); c.start(p, "bob", "till") },
		func() { c.cancel(p, "bob") }, // closes the charge first
		func() { c.place(p, "eve", 1, 0); c.start(p, "eve", "till") },
		func() { c.payAt(p, "eve", "till") }, // its callback is lost
		func() { p.pumpMoney() },
		func() { c.place(p, "gus", 1, 0); c.start(p, "gus", "till", "kiosk") },
		func() { c.payAt(p, "gus", "till"); c.payAt(p, "gus", "kiosk") },
		func() { c.callback(p, "gus", "till"); c.callback(p, "gus", "kiosk") },
		func() { p.pumpMoney() },
		func() { c.place(p, "cid", 1, 0); c.start(p, "cid", "till") },
		func() { c.place(p, "dan", 1, 0); c.start(p, "dan", "till") },
		func() { p.tills["till"].away(true) },
		func() { p.site.pass(16 * time.Minute); p.pumpMoney() }, // rolled back without the till's word
		func() { p.tills["till"].away(false) },
		func() { c.payAt(p, "cid", "till"); c.payAt(p, "dan", "till") },
		func() { c.look(p, "cid") }, // and dan has left
		func() { c.callback(p, "cid", "till"); c.callback(p, "dan", "till") },
		func() { p.carryMoney() },
		func() { p.pumpMoney() },
		func() { p.pumpMoney() },
	} {
		if p.killed() {
			return
		}
		happens()
	}
}

// moneyVerdict is what is wrong once all is quiet, of goods and of money.
func (p *process) moneyVerdict(c *customers) []string {
	wrong := p.verdict(c)
	for name, t := range p.tills {
		for tradeNo, charge := range t.charges {
			id, _ := payment.OrderOf(tradeNo)
			o, err := p.books.Find(p.ctx, id)
			if err != nil {
				continue // closed, and never an order
			}
			a, err := p.books.Account(p.ctx, id)
			p.ok(err)
			status := payment.Status("none")
			for _, x := range a.Payments {
				if x.Provider == name {
					status = x.Status
				}
			}
			vends := status == payment.StatusPaid && o.Status == order.Consumed
			switch {
			case charge.state == payment.Unpaid:
				wrong = append(wrong, fmt.Sprintf("%s at %s may still be paid, and stands at %s", id, name, o.Status))
			case charge.state != payment.Paid:
			case vends && charge.back != p.undropped(o) && !(charge.back > p.undropped(o) && p.called(o)):
				wrong = append(wrong, fmt.Sprintf("%s at %s dropped all but %d, and %d went back", id, name, p.undropped(o), charge.back))
			case !vends && charge.back != charge.Amount.Minor:
				wrong = append(wrong, fmt.Sprintf("%s at %s is %s, stands at %s, and %d of %s went back", id, name, status, o.Status, charge.back, charge.Amount))
			}
		}
	}
	return wrong
}

func TestTheMoneysStoryMeetsEveryPointAndEndsExact(t *testing.T) {
	s, c := newSite(t), newShoppers()
	p := s.start(nil)
	defer p.end()
	moneyStory(p, c)
	for _, point := range moneyPoints {
		if p.hits[point] == 0 {
			t.Errorf("nothing happens %s", point)
		}
	}
	for name, want := range map[string]struct {
		status order.Status
		money  string
	}{"ann": {order.Consumed, "paid"}, "bob": {order.RolledBack, ""}, "eve": {order.Consumed, "paid"}, "gus": {order.Consumed, "paid"},
		"cid": {order.Consumed, "paid"}, "dan": {order.RolledBack, "refunded"}} {
		o, err := p.books.Find(s.ctx, c.ids[name])
		s.ok(err)
		a, err := p.books.Account(s.ctx, o.ID)
		s.ok(err)
		if o.Status != want.status || a.Standing() != want.money {
			t.Errorf("%s stands at %s, the money is %q", name, o.Status, a.Standing())
		}
	}
	p.quiet()
	for _, w := range p.moneyVerdict(c.customers) {
		t.Error(w)
	}
}

// A process that dies between any two durable steps of money, each time it
// passes there: the next one ends with every payer's money in its place.
func TestMoneySurvivesADeathAtAnyPoint(t *testing.T) {
	for i, point := range moneyPoints {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			hit := 1
			for moneyDies(t, point, hit, (i+hit)%2 == 0) && !testing.Short() {
				hit++
			}
		})
	}
}

func moneyDies(t *testing.T, point string, hit int, sweptFirst bool) bool {
	t.Helper()
	s, c := newSite(t), newShoppers()
	p := s.start(func(at string, n int) bool { return at == point && n == hit })
	moneyStory(p, c)
	died := p.killed()
	p.end()
	s.tills["till"].away(false)
	next := s.start(nil)
	defer next.end()
	if sweptFirst {
		s.pass(time.Minute)
		next.pumpMoney()
	}
	moneyStory(next, c)
	next.quiet()
	for _, w := range next.moneyVerdict(c.customers) {
		t.Errorf("killed %s, time %d, swept first %v: %s", point, hit, sweptFirst, w)
	}
	return died
}

// A provider that is away keeps no hold beyond its time and a minute.
func TestAProviderThatIsAwayKeepsNoHoldForLong(t *testing.T) {
	s, c := newSite(t), newShoppers()
	p := s.start(nil)
	defer p.end()
	c.place(p, "ann", 1, 0)
	c.start(p, "ann", "till")
	id := c.ids["ann"]
	s.tills["till"].away(true)
	var no *order.Refusal
	if _, err := p.orders.Cancel(s.ctx, id); !errors.As(err, &no) || !no.Code.Retryable() {
		t.Errorf("cancelled though nobody knows whether it is paid: %v", err)
	}
	s.pass(hold + 5*time.Second)
	if n, err := p.timers.Sweep(s.ctx); n != 0 || err != nil {
		t.Errorf("%d ended at once, %v", n, err)
	}
	s.pass(26 * time.Second)
	if n, err := p.timers.Sweep(s.ctx); n != 1 || err != nil {
		t.Errorf("%d ended in time, %v", n, err)
	}
	s.tills["till"].away(false)
	p.quiet()
	for _, w := range p.moneyVerdict(c.customers) {
		t.Error(w)
	}
}
