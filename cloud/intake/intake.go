package intake

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"vendline/shared/wire"
)

// Intake is one instance's share of what cabinets send.
type Intake struct {
	opt    Options
	events *link
	say    func(topic string, payload []byte) bool // sends a message down, if it can
	watch  *Watch                                  // nil if nobody wants to know of beats and states
	births *births                                 // nil without a Stock
	acks   *acks
	graves *graves

	work    chan mqtt.Message
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup
	closing atomic.Bool
	counts  counts
	away    sometimes // "a server is away" is told at a bounded rate
	full    sometimes
}

// Start begins to connect and returns at once; Ready tells when events flow.
// Close must be called.
func Start(o Options) (*Intake, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	in := &Intake{opt: o, work: make(chan mqtt.Message, o.Queue), graves: newGraves(o.DeadLetters)}
	in.ctx, in.cancel = context.WithCancel(context.Background())
	in.acks = newAcks(o.Timing.Flush, func(cabinet string, a wire.Ack) { in.publish(cabinet, wire.ChannelAck, a) })
	for range o.Workers {
		in.workers.Go(in.serve)
	}
	shared := "$share/" + o.Group + "/"
	in.events = newLink(o, o.Client, kind{clean: o.CleanSession}, in.receive,
		shared+wire.TopicFilter(wire.ChannelOrder), shared+wire.TopicFilter(wire.ChannelFact))
	if o.Commands != nil {
		in.events.hear(shared + wire.TopicFilter(wire.ChannelAsk))
	}
	in.say = in.events.publish
	in.events.open()
	var born func(wire.State)
	if o.Stock != nil {
		in.births = newBirths(in)
		born = in.births.born
	}
	if o.Stock != nil || o.Watcher != nil {
		in.watch = startWatch(o, born)
	}
	return in, nil
}

// Ready reports whether this instance is connected and subscribed.
func (in *Intake) Ready() bool { return in.events.ready() && in.watch.Ready() }

// Await waits until Ready, or for the end of ctx.
func (in *Intake) Await(ctx context.Context) error {
	if err := in.events.await(ctx); err != nil {
		return err
	}
	return in.watch.Await(ctx)
}

// Close stops taking events, waits for those under way (a bounded time), sends
// what is left to say, and disconnects. The broker keeps the session: what
// comes for it meanwhile is delivered when the instance is back.
func (in *Intake) Close() { in.close(false) }

// Leave is Close for an instance that will not come back: the broker drops its
// session, and shares its part among the others.
func (in *Intake) Leave() { in.close(true) }

func (in *Intake) close(leave bool) {
	if in.closing.Swap(true) {
		return
	}
	hurry := time.AfterFunc(in.opt.Timing.Drain, in.cancel)
	in.watch.Close()
	if in.births != nil {
		in.births.close()
	}
	in.events.shut()
	close(in.work)
	in.workers.Wait()
	hurry.Stop()
	in.cancel()
	in.acks.flush()
	in.events.close()
	if !leave {
		return
	}
	if err := in.events.forget(); err != nil {
		in.opt.Log.Error("intake: the broker could not be told that this instance left; it keeps a share for it", "client", in.opt.Client, "err", err)
	}
}

// receive hands a message on. The MQTT client calls it on goroutines of its own.
func (in *Intake) receive(m mqtt.Message) {
	select {
	case in.work <- m:
	default:
		in.counts.shed.Add(1)
		m.Ack()
		if missed, ok := in.full.allow(in.opt.Now()); ok {
			in.opt.Log.Warn("intake: more events than can be worked off; cabinets will send them again", "topic", m.Topic(), "not_told", missed)
		}
	}
}

func (in *Intake) serve() {
	for m := range in.work {
		in.handle(m)
	}
}

// handle sees one message to its end.
func (in *Intake) handle(m mqtt.Message) {
	defer m.Ack()
	in.take(m.Topic(), m.Payload())
}

func (in *Intake) take(topic string, payload []byte) {
	cabinet, channel, ok := wire.ParseTopic(topic)
	switch {
	case ok && channel == wire.ChannelOrder:
		in.order(cabinet, payload)
	case ok && channel == wire.ChannelFact:
		in.fact(cabinet, payload)
	case ok && channel == wire.ChannelAsk:
		in.ask(cabinet, payload)
	default:
		in.bury(letter{topic: topic, reason: "topic names no cabinet", payload: payload})
	}
}

// publish sends a message down. If it cannot, or gets lost, the cabinet asks
// again by sending its event again.
func (in *Intake) publish(cabinet string, c wire.Channel, message any) {
	if !in.say(wire.Topic(cabinet, c), wire.Encode(message)) {
		in.counts.unsaid.Add(1)
	}
}
