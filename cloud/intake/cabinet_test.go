package intake_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"vendline/shared/wire"
)

// patience bounds every wait; it is never what a test measures.
const patience = time.Minute

// cabinet is an agent reduced to its promise: it keeps an event until it is
// answered, and sends it again until then.
type cabinet struct {
	t      testing.TB
	id     string
	epoch  string
	client mqtt.Client

	mu       sync.Mutex
	seq      int64
	waiting  map[int64]func() // by seq: publishes it
	verdicts map[int64][]wire.Verdict
	acked    map[int64]int
	ackMsgs  int
	commands []wire.Command
	changed  chan struct{}
	ups      int // connections so far
}

func (s site) cabinet(t testing.TB, i int, change func(*mqtt.ClientOptions)) *cabinet {
	t.Helper()
	name := s.names[i]
	c := &cabinet{t: t, id: name, epoch: id(9, i), waiting: map[int64]func(){}, verdicts: map[int64][]wire.Verdict{}, acked: map[int64]int{}, changed: make(chan struct{})}
	o := mqtt.NewClientOptions().AddBroker(s.url).SetClientID("edge-" + name).SetUsername(name).SetPassword(s.passwords[name])
	o.SetCleanSession(true).SetOrderMatters(false).SetConnectRetry(true).SetConnectRetryInterval(50 * time.Millisecond)
	o.SetAutoReconnect(true).SetMaxReconnectInterval(100 * time.Millisecond).SetWriteTimeout(5 * time.Second)
	up := make(chan struct{})
	var once sync.Once
	o.SetOnConnectHandler(func(m mqtt.Client) {
		filters := map[string]byte{}
		for _, ch := range []wire.Channel{wire.ChannelVerdict, wire.ChannelAck, wire.ChannelCommand} {
			filters[wire.Topic(name, ch)] = 1
		}
		m.SubscribeMultiple(filters, c.receive).WaitTimeout(5 * time.Second)
		c.mu.Lock()
		c.ups++
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		once.Do(func() { close(up) })
	})
	if change != nil {
		change(o)
	}
	c.client = mqtt.NewClient(o)
	c.client.Connect()
	t.Cleanup(func() { c.client.Disconnect(0) })
	select {
	case <-up:
	case <-time.After(patience):
		t.Fatal("a cabinet cannot connect")
	}
	return c
}

func (c *cabinet) receive(_ mqtt.Client, m mqtt.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ch, _ := wire.ParseTopic(m.Topic())
	var err error
	switch ch {
	case wire.ChannelVerdict:
		var v wire.Verdict
		err = wire.Decode(m.Payload(), wire.MaxMessage, &v)
		c.verdicts[v.Seq] = append(c.verdicts[v.Seq], v)
		if !v.Retryable {
			delete(c.waiting, v.Seq)
		}
	case wire.ChannelAck:
		var a wire.Ack
		err = wire.Decode(m.Payload(), wire.MaxMessage, &a)
		c.ackMsgs++
		for _, seq := range a.Seqs {
			c.acked[seq]++
			delete(c.waiting, seq)
		}
	case wire.ChannelCommand:
		var cmd wire.Command
		err = wire.Decode(m.Payload(), wire.MaxMessage, &cmd)
		c.commands = append(c.commands, cmd)
	}
	if err != nil {
		c.t.Errorf("message on %s: %v", m.Topic(), err)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// event is the next event of this cabinet, its body yet to be set.
func (c *cabinet) event() wire.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	return wire.Event{V: wire.Version, ID: id(int(c.epoch[len(c.epoch)-1]), int(c.seq)), Cabinet: c.id, Epoch: c.epoch, Seq: c.seq, At: clock.UnixMilli()}
}

func (c *cabinet) order(sku string, qty int) wire.Event {
	e := c.event()
	e.Order = &wire.Order{User: "u1", Lines: []wire.Line{{SKU: sku, Qty: qty}}}
	return e
}

func (c *cabinet) fact(sku string, qty int) wire.Event {
	e := c.event()
	e.Fact = &wire.Fact{Kind: wire.FactSale, Lines: []wire.Line{{SKU: sku, Qty: qty}}}
	return e
}

func channelOf(e wire.Event) wire.Channel {
	if e.Fact != nil {
		return wire.ChannelFact
	}
	return wire.ChannelOrder
}

// send publishes an event once.
func (c *cabinet) send(e wire.Event) { c.raw(channelOf(e), wire.Encode(e)) }

func (c *cabinet) raw(ch wire.Channel, payload []byte) {
	c.client.Publish(wire.Topic(c.id, ch), 1, false, payload)
}

// keep publishes an event until it is answered.
func (c *cabinet) keep(e wire.Event) {
	c.mu.Lock()
	c.waiting[e.Seq] = func() { c.send(e) }
	c.mu.Unlock()
	c.send(e)
}

// resend sends what is unanswered again, at a calm pace, until ctx ends.
func (c *cabinet) resend(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(500 * time.Millisecond):
		}
		c.mu.Lock()
		var again []func()
		for _, f := range c.waiting {
			again = append(again, f)
		}
		c.mu.Unlock()
		if c.client.IsConnectionOpen() {
			for _, f := range again {
				f()
			}
		}
	}
}

// wait blocks until ok, which sees the cabinet locked.
func (c *cabinet) wait(what string, ok func() bool) {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		done, changed := ok(), c.changed
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("%s: still waiting for %s", c.id, what)
		}
	}
}

// verdict waits for the first verdict on seq.
func (c *cabinet) verdict(seq int64) wire.Verdict {
	c.t.Helper()
	c.wait(fmt.Sprintf("a verdict on %d", seq), func() bool { return len(c.verdicts[seq]) > 0 })
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.verdicts[seq][0]
}

// settled waits until nothing is unanswered.
func (c *cabinet) settled() {
	c.t.Helper()
	c.wait("all answers", func() bool { return len(c.waiting) == 0 })
}
