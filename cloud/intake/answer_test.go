package intake_test

import (
	"reflect"
	"testing"

	"vendline/shared/wire"
)

func TestOrderIsPlacedAndAnswered(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		s.intake(t, "intake-1", shop, nil)
		c := s.cabinet(t, 0, nil)
		e := c.order("cola", 2)
		c.send(e)
		want := wire.Verdict{V: 1, ID: e.ID, Cabinet: c.id, Epoch: c.epoch, Seq: e.Seq, Code: wire.Accepted,
			Status: "PRE_RESERVED", Amount: 700, Currency: "CNY", ExpiresIn: 300_000}
		if got := c.verdict(e.Seq); !reflect.DeepEqual(got, want) {
			t.Errorf("verdict %+v, want %+v", got, want)
		}
		if o, _ := shop.ordered(e.ID); o.Cabinet != c.id || o.User != "u1" {
			t.Errorf("order %+v", o)
		}
	})
}

// The same event again is placed once and answered alike, however often it comes.
func TestReplayGetsTheSameVerdict(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		s.intake(t, "intake-1", shop, nil)
		c := s.cabinet(t, 0, nil)
		e := c.order("cola", 1)
		for range 10 {
			c.send(e)
		}
		c.wait("ten verdicts", func() bool { return len(c.verdicts[e.Seq]) == 10 })
		for _, v := range c.verdicts[e.Seq][1:] {
			if !reflect.DeepEqual(v, c.verdicts[e.Seq][0]) {
				t.Errorf("verdicts differ: %+v and %+v", c.verdicts[e.Seq][0], v)
			}
		}
		if len(shop.orders) != 1 {
			t.Errorf("%d orders", len(shop.orders))
		}
	})
}

func TestRefusalIsAVerdict(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		s.intake(t, "intake-1", shop, nil)
		c := s.cabinet(t, 0, nil)
		e := c.order("none", 3)
		c.send(e)
		v := c.verdict(e.Seq)
		if v.Code != wire.CodeStockShort || v.Retryable || !reflect.DeepEqual(v.Short, []wire.Shortage{{SKU: "none", Want: 3}}) {
			t.Errorf("verdict %+v", v)
		}
		if g := shop.buried(); len(g) != 0 {
			t.Errorf("a refusal was buried: %+v", g)
		}
	})
}

// Many facts share an ack, every one is acknowledged, and only once durable.
func TestFactsAreAcknowledgedTogether(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		s.intake(t, "intake-1", shop, nil)
		c := s.cabinet(t, 0, nil)
		const n = 1000
		for range n {
			c.keep(c.fact("cola", 1))
		}
		c.settled()
		if len(shop.facts) != n {
			t.Errorf("%d of %d facts are recorded", len(shop.facts), n)
		}
		if c.ackMsgs >= n {
			t.Errorf("%d acks for %d facts: none shared", c.ackMsgs, n)
		}
	})
}

// A fact that is refused happened all the same: it is kept for people, and the
// cabinet is told.
func TestRefusedFactIsKept(t *testing.T) {
	s := embedded(t)
	shop := newShop()
	s.intake(t, "intake-1", shop, nil)
	c := s.cabinet(t, 0, nil)
	e := c.fact("none", 1)
	c.send(e)
	if v := c.verdict(e.Seq); v.Code != wire.CodeSKUUnknown || v.Retryable {
		t.Errorf("verdict %+v", v)
	}
	if g := shop.buried(); len(g) != 1 || g[0].meta["id"] != e.ID || g[0].meta["cabinet"] != c.id {
		t.Errorf("graves %+v", g)
	}
}
