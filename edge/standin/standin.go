// Package standin is a cloud for tests and benchmarks of the edge: it answers
// what cabinets send over a real broker, as it is told to, and remembers it all.
// It decides nothing about stock.
package standin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"vendline/shared/wire"
)

// Options of a stand-in.
type Options struct {
	Broker   string // tcp://host:1883
	User     string
	Password string
	Client   string // MQTT client id
	Cabinet  string // whose events to answer; empty means every cabinet's

	// Decide answers an event: a verdict for an order, or nil for silence. For a
	// fact any verdict means an ack. Nil accepts everything. Concurrent.
	Decide func(channel wire.Channel, e wire.Event) *wire.Verdict

	// Offer answers an ask: everything that waits for the cabinet, or ok false for
	// silence. Nil offers what Dispense was told and what has not come to an end.
	Offer func(wire.Ask) (list []wire.Vend, ok bool)

	// Forget keeps counts only, for runs of millions of events.
	Forget bool
}

// Cloud is a running stand-in.
type Cloud struct {
	opt    Options
	client mqtt.Client

	mu     sync.Mutex
	events []wire.Event
	states []wire.State
	beats  []wire.Beat
	asks   []wire.Ask
	vends  []waiting
	bad    []error
	total  int64
	change chan struct{} // closed and replaced at every change
}

// Start connects and subscribes; Stop must be called.
func Start(ctx context.Context, opt Options) (*Cloud, error) {
	if opt.Client == "" {
		opt.Client = "standin"
	}
	if opt.Cabinet == "" {
		opt.Cabinet = "+"
	}
	c := &Cloud{opt: opt, change: make(chan struct{})}
	o := mqtt.NewClientOptions().AddBroker(opt.Broker).SetClientID(opt.Client)
	o.SetUsername(opt.User).SetPassword(opt.Password)
	o.SetCleanSession(false).SetOrderMatters(true).SetWriteTimeout(10 * time.Second)
	o.SetConnectRetry(true).SetConnectRetryInterval(100 * time.Millisecond).SetMaxReconnectInterval(time.Second)
	up := make(chan error, 1)
	o.SetOnConnectHandler(func(m mqtt.Client) {
		err := c.subscribe(m)
		select {
		case up <- err:
		default:
		}
	})
	c.client = mqtt.NewClient(o)
	c.client.Connect()
	select {
	case err := <-up:
		if err != nil {
			c.Stop()
			return nil, err
		}
		return c, nil
	case <-ctx.Done():
		c.Stop()
		return nil, fmt.Errorf("standin: connect: %w", ctx.Err())
	}
}

func (c *Cloud) subscribe(m mqtt.Client) error {
	filters := make(map[string]byte)
	for _, ch := range []wire.Channel{wire.ChannelOrder, wire.ChannelFact, wire.ChannelState, wire.ChannelBeat, wire.ChannelAsk} {
		filters["vend/v1/"+c.opt.Cabinet+"/"+string(ch)] = 1
	}
	token := m.SubscribeMultiple(filters, c.receive)
	if !token.WaitTimeout(10 * time.Second) {
		return errors.New("standin: no answer to subscribe")
	}
	return token.Error()
}

// Stop disconnects.
func (c *Cloud) Stop() { c.client.Disconnect(100) }

func (c *Cloud) receive(_ mqtt.Client, m mqtt.Message) {
	cabinet, channel, ok := wire.ParseTopic(m.Topic())
	if !ok {
		c.note(func() { c.bad = append(c.bad, fmt.Errorf("topic %q", m.Topic())) })
		return
	}
	switch channel {
	case wire.ChannelState:
		var s wire.State
		err := wire.Decode(m.Payload(), wire.MaxMessage, &s)
		c.note(func() { c.states = append(c.states, s); c.fault(err) })
	case wire.ChannelBeat:
		var b wire.Beat
		err := wire.Decode(m.Payload(), wire.MaxMessage, &b)
		c.note(func() { c.beats = append(c.beats, b); c.fault(err) })
	case wire.ChannelAsk:
		var q wire.Ask
		err := wire.Decode(m.Payload(), wire.MaxMessage, &q)
		c.note(func() { c.asks = append(c.asks, q); c.fault(err) })
		c.offer(cabinet, q)
	default:
		e, err := wire.DecodeEvent(m.Payload(), cabinet, channel)
		c.note(func() {
			c.total++
			c.ended(e)
			if !c.opt.Forget {
				c.events = append(c.events, e)
			}
			c.fault(err)
		})
		c.answer(channel, e)
	}
}

func (c *Cloud) answer(channel wire.Channel, e wire.Event) {
	v := &wire.Verdict{Code: wire.Accepted, Status: "PRE_RESERVED", Amount: 350, Currency: "CNY", ExpiresIn: 300_000}
	if c.opt.Decide != nil {
		v = c.opt.Decide(channel, e)
	}
	if v == nil {
		return
	}
	if channel == wire.ChannelFact {
		c.Send(e.Cabinet, wire.ChannelAck, wire.Ack{V: wire.Version, Cabinet: e.Cabinet, Epoch: e.Epoch, Seqs: []int64{e.Seq}})
		return
	}
	w := *v
	w.V, w.ID, w.Cabinet, w.Epoch, w.Seq, w.Retryable = wire.Version, e.ID, e.Cabinet, e.Epoch, e.Seq, v.Code.Retryable()
	c.Send(e.Cabinet, wire.ChannelVerdict, w)
}

// Send publishes a message down to a cabinet, at QoS 1.
func (c *Cloud) Send(cabinet string, channel wire.Channel, message any) {
	c.client.Publish(wire.Topic(cabinet, channel), 1, false, wire.Encode(message))
}

func (c *Cloud) fault(err error) {
	if err != nil {
		c.bad = append(c.bad, err)
	}
}

func (c *Cloud) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.change)
	c.change = make(chan struct{})
}

// Seen is a copy of what a stand-in has received.
type Seen struct {
	Events []wire.Event // as they came, repeats included
	States []wire.State
	Beats  []wire.Beat
	Asks   []wire.Ask
	Bad    []error // messages that could not be read
	Total  int64   // events, repeats included
}

// Dispensed returns the reports on a command, as they came, repeats included.
func (s Seen) Dispensed(command string) (reports []wire.Dispense) {
	for _, e := range s.Events {
		if e.Fact != nil && e.Fact.Dispense != nil && e.Fact.Dispense.Command == command {
			reports = append(reports, *e.Fact.Dispense)
		}
	}
	return reports
}

// IDs counts how often each event id came.
func (s Seen) IDs() map[string]int {
	n := make(map[string]int)
	for _, e := range s.Events {
		n[e.ID]++
	}
	return n
}

// Seen returns what has come so far.
func (c *Cloud) Seen() Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen()
}

func (c *Cloud) seen() Seen {
	return Seen{append([]wire.Event(nil), c.events...), append([]wire.State(nil), c.states...),
		append([]wire.Beat(nil), c.beats...), append([]wire.Ask(nil), c.asks...), append([]error(nil), c.bad...), c.total}
}

// Until waits for what has come to satisfy ok.
func (c *Cloud) Until(ctx context.Context, ok func(Seen) bool) (Seen, error) {
	for {
		c.mu.Lock()
		seen, change := c.seen(), c.change
		c.mu.Unlock()
		if ok(seen) {
			return seen, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return seen, fmt.Errorf("standin: still waiting, with %d events: %w", seen.Total, ctx.Err())
		}
	}
}
