package ledgertest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
)

func captures() []promise {
	return []promise{
		{"what becomes of money that arrives, by the order's state", captureStates},
		{"one payment captured twenty times at once is one transition and one command", captureOnce},
		{"of two payments at once one pays, and the other goes back", captureTwo},
		{"a capture and a timeout at the same instant have one winner, and no money is silent", captureRace},
		{"late money takes the basket again, and then can not time out", captureRetried},
		{"an order whose late money goes back is not taken again", captureReturned},
		{"of two late payments the second goes back", captureTwoLate},
	}
}

// capture books a payment's money, which must be possible.
func (f *Fixture) capture(p payment.Payment) order.Captured {
	f.t.Helper()
	c := f.captureOf(p)
	f.ok(f.Transition(f.ctx, c))
	return c.Captured
}

func (f *Fixture) captureOf(p payment.Payment) *order.Change {
	return &order.Change{ID: p.Order, Event: order.PaySuccess, Cause: "paid", Capture: &order.Capture{Payment: p.ID, Ref: "R-" + p.ID, PaidAt: f.Now()}}
}

// paidOpen is an order in a state, with a payment that is open.
func (f *Fixture) paidOpen(s order.Status) (order.Order, payment.Payment) {
	f.t.Helper()
	o := f.inState(order.PreReserved)
	p := f.open(o, "sandbox")
	switch s {
	case order.Init:
		f.settleAll()
		f.exec("UPDATE trade_order SET status = 'INIT', version = 0, hold_until = NULL WHERE order_sn = ?", o.ID)
	case order.Consumed:
		f.capture(f.open(o, "other"))
	case order.RolledBack:
		f.move(o.ID, order.Timeout)
	}
	return f.find(o.ID), p
}

func captureStates(t *testing.T, f *Fixture) {
	for _, c := range []struct {
		in     order.Status
		what   order.Captured
		status payment.Status
		kind   outbox.Kind
	}{
		{order.PreReserved, order.CapturedPays, payment.StatusPaid, outbox.KindCommand},
		{order.RolledBack, order.CapturedLate, payment.StatusSurplus, outbox.KindLate},
		{order.Consumed, order.CapturedTwice, payment.StatusSurplus, outbox.KindRefund},
	} {
		o, p := f.paidOpen(c.in)
		before := len(f.rows(c.kind))
		change := f.captureOf(p)
		f.ok(f.Transition(f.ctx, change))
		now := f.find(o.ID)
		if got := f.paymentOf(p.ID); change.Captured != c.what || got.Status != c.status || got.Ref != "R-"+p.ID {
			t.Errorf("in %s: %s, the payment is %+v", c.in, change.Captured, got)
		}
		if moved := c.what == order.CapturedPays; moved != (now.Status == order.Consumed && now.Version == o.Version+1) && c.in != order.Consumed || change.After.Status != now.Status {
			t.Errorf("in %s: stands at %s v%d, told %s", c.in, now.Status, now.Version, change.After.Status)
		}
		if got := len(f.rows(c.kind)); got != before+1 {
			t.Errorf("in %s: %d %s rows more", c.in, got-before, c.kind)
		}
		if !slices.Contains(f.movements(o.ID), "captured 1.00 EUR") {
			t.Errorf("in %s: movements %v", c.in, f.movements(o.ID))
		}
		if again := f.capture(p); again != order.CapturedAgain {
			t.Errorf("in %s, again: %s", c.in, again)
		}
		f.Invariants()
	}
	o, p := f.paidOpen(order.Init)
	var state *order.StateError
	if err := f.Transition(f.ctx, f.captureOf(p)); !errors.As(err, &state) || f.paymentOf(p.ID).Status != payment.StatusOpen {
		t.Errorf("in INIT: %v, the payment is %s", err, f.paymentOf(p.ID).Status)
	}
	f.move(o.ID, order.PreDeduct)
	if err := f.Transition(f.ctx, f.captureOf(payment.Payment{ID: f.ID(), Order: o.ID})); !errors.Is(err, order.ErrUnknown) {
		t.Errorf("no such payment: %v", err)
	}
	f.settleAll()
}

func captureOnce(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 1))
	p := f.open(o, "sandbox")
	var mu sync.Mutex
	told := map[order.Captured]int{}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c := f.captureOf(p)
			if err := f.Transition(f.ctx, c); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			told[c.Captured]++
		})
	}
	wg.Wait()
	if told[order.CapturedPays] != 1 || told[order.CapturedAgain] != 19 {
		t.Errorf("told %v", told)
	}
	if got := f.find(o.ID); got.Status != order.Consumed || got.Version != 2 {
		t.Errorf("stands at %s v%d", got.Status, got.Version)
	}
	f.wantBacklog(outbox.KindCommand, 1)
	if n := f.count("SELECT COUNT(*) FROM trade_order_event WHERE order_sn = ?", o.ID); n != 4 { // open, transition, paid, command
		t.Errorf("%d lines of history", n)
	}
	f.settleAll()
}

func captureTwo(t *testing.T, f *Fixture) {
	for range 10 {
		o := f.place(line("cola", 1))
		var done [2]order.Captured
		var wg sync.WaitGroup
		for i, p := range []payment.Payment{f.open(o, "sandbox"), f.open(o, "wechat")} {
			wg.Go(func() {
				c := f.captureOf(p)
				if err := f.Transition(f.ctx, c); err != nil {
					t.Error(err)
				}
				done[i] = c.Captured
			})
		}
		wg.Wait()
		slices.Sort(done[:])
		if done != [2]order.Captured{order.CapturedTwice, order.CapturedPays} {
			t.Errorf("told %v", done)
		}
	}
	f.wantBacklog(outbox.KindRefund, 10)
	f.settleAll()
}

func captureRace(t *testing.T, f *Fixture) {
	f.AddStock("C9", map[string]int64{"cola": 200})
	n := 100
	won := map[order.Captured]int{}
	for range n {
		o := f.orderAt("C9", line("cola", 1))
		f.ok(f.Place(f.ctx, f.placement(o)))
		p := f.open(o, "sandbox")
		c := f.captureOf(p)
		begin := make(chan struct{})
		var ended, paid error
		var wg sync.WaitGroup
		wg.Go(func() { <-begin; ended = f.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.Timeout}) })
		wg.Go(func() { <-begin; paid = f.Transition(f.ctx, c) })
		close(begin)
		wg.Wait()
		now := f.find(o.ID)
		won[c.Captured]++
		var state *order.StateError
		switch {
		case paid != nil:
			t.Fatalf("the capture failed: %v", paid)
		case c.Captured == order.CapturedPays && (now.Status != order.Consumed || !errors.As(ended, &state)),
			c.Captured == order.CapturedLate && (now.Status != order.RolledBack || ended != nil):
			t.Fatalf("captured %s, ended %v, stands at %s", c.Captured, ended, now.Status)
		}
	}
	t.Logf("of %d: %v", n, won)
	f.settleAll()
}

func captureRetried(t *testing.T, f *Fixture) {
	o, p := f.paidOpen(order.RolledBack)
	f.capture(p)
	f.ok(f.retry(o, f.run("C2")))
	f.Pass(time.Hour)
	var state *order.StateError
	if err := f.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.Timeout, NotBefore: f.Now()}); !errors.As(err, &state) {
		t.Errorf("a hold whose money is here timed out: %v", err)
	}
	if err := f.ReturnSurplus(f.ctx, p.ID, "test", "no row"); !errors.Is(err, payment.ErrMoved) {
		t.Errorf("its money went back: %v", err)
	}
	if got := f.capture(p); got != order.CapturedPays || f.paymentOf(p.ID).Status != payment.StatusPaid {
		t.Errorf("told %s", got)
	}
	if got := f.capture(p); got != order.CapturedAgain {
		t.Errorf("told %s", got)
	}
	f.ok(f.ReturnSurplus(f.ctx, p.ID, "test", f.rows(outbox.KindLate)[0].ID))
	f.wantBacklog(outbox.KindLate, 0)
	f.wantBacklog(outbox.KindRefund, 0)
	f.settleAll()
}

func captureReturned(t *testing.T, f *Fixture) {
	o, p := f.paidOpen(order.RolledBack)
	f.capture(p)
	for range 2 {
		f.ok(f.ReturnSurplus(f.ctx, p.ID, "nobody is there", f.rows(outbox.KindLate)[:1][0].ID))
		if len(f.rows(outbox.KindLate)) == 0 {
			break
		}
	}
	f.wantBacklog(outbox.KindRefund, 1)
	var state *order.StateError
	if err := f.retry(o, f.run("C2")); !errors.As(err, &state) {
		t.Errorf("taken again: %v", err)
	}
	f.settleAll()
}

func captureTwoLate(t *testing.T, f *Fixture) {
	o := f.inState(order.PreReserved)
	p, q := f.open(o, "sandbox"), f.open(o, "wechat")
	o = f.move(o.ID, order.Timeout)
	f.capture(p)
	f.capture(q)
	f.ok(f.retry(o, f.run("C2")))
	if f.capture(q) != order.CapturedPays || f.capture(p) != order.CapturedAgain {
		t.Error("the one that comes first pays")
	}
	for _, r := range f.rows(outbox.KindLate) {
		f.ok(f.ReturnSurplus(f.ctx, string(r.Payload), "paid twice", r.ID))
	}
	f.wantBacklog(outbox.KindRefund, 1)
	if f.paymentOf(q.ID).Status != payment.StatusPaid || f.paymentOf(p.ID).Status != payment.StatusSurplus {
		t.Error("the wrong one goes back")
	}
	f.settleAll()
}
