package intake_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"vendline/cloud/intake"
	"vendline/shared/wire"
)

// vendor has things to dispense.
type vendor struct {
	mu    sync.Mutex
	vends map[string][]wire.Vend
	err   error
	asked int
}

func (v *vendor) OpenCommands(_ context.Context, cabinet string) ([]wire.Vend, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked++
	return v.vends[cabinet], v.err
}

func (c *cabinet) ask(q wire.Ask) {
	c.client.Publish(wire.Topic(c.id, wire.ChannelAsk), 0, false, wire.Encode(q))
}

func TestACabinetThatAsksIsAnsweredEvenWithNothing(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		v := &vendor{vends: map[string][]wire.Vend{s.names[0]: {{ID: id(1, 1), Order: id(1, 2), Lines: []wire.Line{{SKU: "cola", Qty: 2}}, ExpiresIn: 42_000}}}}
		s.intake(t, "ask", newShop(), func(o *intake.Options) { o.Commands = v })
		for i, want := range []int{1, 0} {
			c := s.cabinet(t, i, nil)
			c.ask(wire.Ask{V: wire.Version, Cabinet: c.id, ID: id(2, i)})
			c.wait("an answer", func() bool { return len(c.commands) == 1 })
			got := c.commands[0]
			if got.Kind != wire.CommandDispense || got.Ask != id(2, i) || len(got.Dispense) != want {
				t.Errorf("answered %+v", got)
			}
			if want == 1 && (got.Dispense[0].ExpiresIn != 42_000 || got.Dispense[0].ID != id(1, 1)) {
				t.Errorf("answered %+v", got)
			}
		}
	})
}

func TestAQuestionThatCannotBeAnsweredIsLeft(t *testing.T) {
	s := embedded(t)
	v := &vendor{err: errors.New("away")}
	in := s.intake(t, "ask", newShop(), func(o *intake.Options) { o.Commands = v })
	c := s.cabinet(t, 0, nil)
	for _, q := range []wire.Ask{{V: 9, Cabinet: c.id, ID: id(1, 1)}, {V: wire.Version, Cabinet: "C9", ID: id(1, 1)}, {V: wire.Version, Cabinet: c.id, ID: "me"}} {
		c.ask(q)
	}
	c.client.Publish(wire.Topic(c.id, wire.ChannelAsk), 0, false, []byte("{"))
	c.ask(wire.Ask{V: wire.Version, Cabinet: c.id, ID: id(1, 2)})
	in.Wake(c.id) // answered though the ledger is away
	c.wait("a wake", func() bool { return len(c.commands) == 1 })
	if got := c.commands[0]; got.Kind != wire.CommandWake || got.Cabinet != c.id {
		t.Errorf("woken with %+v", got)
	}
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		v.mu.Lock()
		asked := v.asked
		v.mu.Unlock()
		if asked == 1 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("the ledger was asked %d times", v.asked)
}

// What a cabinet reports changes what it can sell: it is told at once, and then
// once for all that follows within the interval.
func TestStockIsToldAgainWhenReportsChangeIt(t *testing.T) {
	s := embedded(t)
	const calm = 300 * time.Millisecond
	s.intake(t, "stock", newShop(), func(o *intake.Options) { o.Stock, o.Timing.Stock = newShop(), calm })
	c := s.cabinet(t, 0, nil)
	start := time.Now()
	for i := range 40 {
		c.send(c.fact("cola", 1+i%3))
	}
	c.wait("acks", func() bool { return len(c.acked) == 40 })
	c.wait("a second stock command", func() bool { return len(c.commands) >= 2 })
	if took := time.Since(start); took < calm {
		t.Errorf("told twice within %s", took)
	}
	time.Sleep(2 * calm)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.commands); n > 2+int(time.Since(start)/calm) {
		t.Errorf("told %d times", n)
	}
	for _, cmd := range c.commands {
		if cmd.Kind != wire.CommandStock || fmt.Sprint(cmd.Stock[0].SKU) != "cola" {
			t.Errorf("told %+v", cmd)
		}
	}
}
