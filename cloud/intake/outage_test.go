package intake_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"vendline/cloud/intake"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// While a server is away an event is neither decided nor lost: it is decided
// when its cabinet sends it again.
func TestServerAwayDecidesNothingAndSaysSo(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		var away atomic.Bool
		away.Store(true)
		shop.before = func(context.Context, string) error {
			if away.Load() {
				return errAway
			}
			return nil
		}
		in := s.intake(t, "intake-1", shop, nil)
		c := s.cabinet(t, 0, nil)
		events := []wire.Event{c.order("cola", 1), c.fact("cola", 1)}
		for _, e := range events {
			c.send(e)
		}
		c.raw(wire.ChannelOrder, []byte("{"))
		await(t, "three events given up", func() bool { return in.Counts().Unanswered == 3 })
		c.mu.Lock()
		if len(c.acked) != 0 {
			t.Errorf("acknowledged while the server was away: %v", c.acked)
		}
		for _, vs := range c.verdicts {
			if vs[0].Code != wire.CodeUnavailable || !vs[0].Retryable {
				t.Errorf("verdict while the server was away: %+v", vs[0])
			}
		}
		c.mu.Unlock()
		away.Store(false)
		for _, e := range events {
			c.keep(e)
		}
		c.raw(wire.ChannelOrder, []byte("{"))
		c.settled()
		await(t, "the dead letter", func() bool { return len(shop.buried()) == 1 })
	})
}

// A passing failure costs a retry and nothing else.
func TestPassingFailureIsRetried(t *testing.T) {
	s := embedded(t)
	shop := newShop()
	var tries atomic.Int64
	shop.before = func(context.Context, string) error {
		if tries.Add(1) < 3 {
			return errAway
		}
		return nil
	}
	s.intake(t, "intake-1", shop, nil)
	c := s.cabinet(t, 0, nil)
	e := c.order("cola", 1)
	c.send(e)
	if v := c.verdict(e.Seq); v.Code != wire.Accepted {
		t.Errorf("verdict %+v", v)
	}
}

// "Later" is an answer too: the cabinet keeps its row and is told why.
func TestRetryableRefusalKeepsTheRow(t *testing.T) {
	s := embedded(t)
	shop := newShop()
	shop.before = func(context.Context, string) error {
		return &order.Refusal{Code: wire.CodeFenced, Detail: "being rebuilt"}
	}
	s.intake(t, "intake-1", shop, nil)
	c := s.cabinet(t, 0, nil)
	e := c.order("cola", 1)
	c.send(e)
	if v := c.verdict(e.Seq); v.Code != wire.CodeFenced || !v.Retryable {
		t.Errorf("verdict %+v", v)
	}
}

// Nothing is acknowledged to the broker before the commit: an instance that
// dies in mid-placement leaves the event to its next incarnation.
func TestDeathBeforeTheCommitRedelivers(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		entered, never := make(chan struct{}, 1), make(chan struct{})
		t.Cleanup(func() { close(never) })
		shop.before = func(ctx context.Context, _ string) error {
			entered <- struct{}{}
			select {
			case <-ctx.Done():
			case <-never:
			}
			return errAway
		}
		cable := newCable(t, s.url)
		s.intake(t, "intake-1", shop, func(o *intake.Options) { o.Broker = cable.url() })
		c := s.cabinet(t, 0, nil)
		e := c.order("cola", 1)
		c.send(e) // once, never again
		<-entered
		cable.cut()
		next := newShop()
		s.intake(t, "intake-1", next, nil)
		if v := c.verdict(e.Seq); v.Code != wire.Accepted {
			t.Errorf("verdict %+v", v)
		}
	})
}

// Two instances share the load; one dies in mid-stream; every event is answered
// and counts once.
func TestOneOfTwoDies(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		for name, clean := range map[string]bool{"the broker waits for it": false, "the broker forgets it": true} {
			t.Run(name, func(t *testing.T) {
				shop := newShop()
				group := func(o *intake.Options) { o.Group, o.CleanSession = strings.ReplaceAll(name, " ", "-"), clean }
				cable := newCable(t, s.url)
				one := s.intake(t, "one"+name, shop, func(o *intake.Options) { group(o); o.Broker = cable.url() })
				two := s.intake(t, "two"+name, shop, group)
				cabinets := stream(t, s, func(sent int) {
					if sent == 200 {
						await(t, "both at work", func() bool { return one.Counts().Accepted > 0 && two.Counts().Accepted > 0 })
						cable.cut()
					}
				})
				checkAll(t, shop, cabinets)
				two.Leave()
			})
		}
	})
}

// An instance that leaves takes its share of the subscription with it: what
// comes then, once, is answered by the other.
func TestLeavingLosesNothing(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		one := s.intake(t, "intake-1", shop, nil)
		s.intake(t, "intake-2", shop, nil)
		cabinets := stream(t, s, func(sent int) {
			if sent == 200 {
				one.Leave()
			}
		})
		checkAll(t, shop, cabinets)
		var last []wire.Event
		for range 50 {
			last = append(last, cabinets[0].order("cola", 1))
			cabinets[0].send(last[len(last)-1])
		}
		for _, e := range last {
			cabinets[0].verdict(e.Seq)
		}
	})
}

// The broker dies and comes back in mid-stream.
func TestBrokerRestart(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		s.intake(t, "intake-1", shop, nil)
		cabinets := stream(t, s, func(sent int) {
			if sent == 200 {
				s.restart(t)
			}
		})
		checkAll(t, shop, cabinets)
	})
}

// More than can be worked off is left to the cabinets, and answered later.
func TestOverloadShedsAndRecovers(t *testing.T) {
	s := embedded(t)
	shop := newShop()
	release := make(chan struct{})
	shop.before = func(context.Context, string) error { <-release; return nil }
	in := s.intake(t, "intake-1", shop, func(o *intake.Options) { o.Workers, o.Queue = 1, 2 })
	c := s.cabinet(t, 0, nil)
	for range 50 {
		c.keep(c.order("cola", 1))
	}
	await(t, "events shed", func() bool { return in.Counts().Shed >= 40 })
	close(release)
	go c.resend(t.Context())
	c.settled()
	if len(shop.orders) != 50 {
		t.Errorf("%d orders", len(shop.orders))
	}
}
