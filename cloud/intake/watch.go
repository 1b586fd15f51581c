package intake

import (
	"context"
	"errors"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"vendline/shared/wire"
)

// Watch listens to the states and beats of all cabinets. It is a client of its
// own, so that health never queues behind orders, nor orders behind health; and
// a plain subscription, so that every instance hears every cabinet, and hears
// from the retained births who is there already.
type Watch struct {
	opt  Options
	link *link
	born func(wire.State) // nil: nobody asks
}

// StartWatch is for a process that shows the fleet and takes no events. Of the
// options Broker, Client and Watcher are required.
func StartWatch(o Options) (*Watch, error) {
	if o.Broker == "" || o.Client == "" || o.Watcher == nil {
		return nil, errors.New("intake: broker, client id and watcher are required")
	}
	o.fillDefaults()
	return startWatch(o, nil), nil
}

func startWatch(o Options, born func(wire.State)) *Watch {
	w := &Watch{opt: o, born: born}
	w.link = newLink(o, o.Client+"-watch", kind{clean: true, ordered: true}, w.receive,
		wire.TopicFilter(wire.ChannelState), wire.TopicFilter(wire.ChannelBeat))
	w.link.open()
	return w
}

// Ready reports whether it is connected and subscribed.
func (w *Watch) Ready() bool { return w == nil || w.link.ready() }

// Await waits until Ready, or for the end of ctx.
func (w *Watch) Await(ctx context.Context) error {
	if w == nil {
		return nil
	}
	return w.link.await(ctx)
}

// Close disconnects.
func (w *Watch) Close() {
	if w != nil {
		w.link.close()
	}
}

// receive is called in order. What cannot be read is dropped: a beat or a state
// is news, not a record, and the next one is due soon.
func (w *Watch) receive(m mqtt.Message) {
	defer m.Ack()
	cabinet, channel, ok := wire.ParseTopic(m.Topic())
	if !ok {
		return
	}
	switch channel {
	case wire.ChannelBeat:
		var b wire.Beat
		if wire.Decode(m.Payload(), wire.MaxMessage, &b) == nil && b.V == wire.Version && b.Cabinet == cabinet && w.opt.Watcher != nil {
			w.opt.Watcher.Beat(b, w.opt.Now())
		}
	case wire.ChannelState:
		var s wire.State
		if wire.Decode(m.Payload(), wire.MaxMessage, &s) != nil || s.V != wire.Version || s.Cabinet != cabinet {
			return
		}
		if w.opt.Watcher != nil {
			w.opt.Watcher.State(s, w.opt.Now())
		}
		if w.born != nil && s.Online {
			w.born(s)
		}
	}
}
