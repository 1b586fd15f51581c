package intake

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// link is one MQTT client that keeps itself connected and subscribed.
type link struct {
	client  mqtt.Client
	filters map[string]byte
	log     *slog.Logger
	jitter  func() float64
	handle  func(mqtt.Message)

	mu     sync.Mutex
	closed bool
	handed sync.WaitGroup // handlers that were let in
	up     chan struct{}  // closed while subscribed; replaced when the connection is lost
	isUp   bool
}

// newLink makes a link; open begins to connect. Messages come one after the
// other if ordered is set, else concurrently; handle must not block either way.
func newLink(o Options, id string, ordered bool, handle func(mqtt.Message), filters ...string) *link {
	l := &link{filters: map[string]byte{}, log: o.Log, jitter: o.Jitter, handle: handle, up: make(chan struct{})}
	for _, f := range filters {
		l.filters[f] = 1
	}
	c := mqtt.NewClientOptions().AddBroker(o.Broker).SetClientID(id).SetUsername(o.User).SetPassword(o.Password)
	c.SetProtocolVersion(4)
	c.SetCleanSession(false)   // what comes while we are away for a moment waits at the broker
	c.SetAutoAckDisabled(true) // after the commit
	c.SetOrderMatters(ordered) // off: each message on a goroutine of its own, and none stalls the client
	c.SetConnectRetry(true)    // else the first connect is tried once
	c.SetConnectRetryInterval(min(time.Second, o.Timing.ReconnectMax))
	c.SetAutoReconnect(true).SetMaxReconnectInterval(o.Timing.ReconnectMax)
	c.SetResumeSubs(false)              // we subscribe at every connect
	c.SetWriteTimeout(10 * time.Second) // else a dead peer blocks a write for ever
	c.SetKeepAlive(30 * time.Second).SetPingTimeout(10 * time.Second).SetConnectTimeout(10 * time.Second)
	c.SetMessageChannelDepth(1000)
	c.SetDefaultPublishHandler(l.receive) // there before Connect: queued messages come at once
	c.SetOnConnectHandler(func(mqtt.Client) { l.subscribe() })
	c.SetConnectionLostHandler(func(_ mqtt.Client, err error) { l.lost(err) })
	c.SetReconnectingHandler(func(mqtt.Client, *mqtt.ClientOptions) {
		time.Sleep(time.Duration(l.jitter() * float64(min(time.Second, o.Timing.ReconnectMax)))) // not all in one instant
	})
	l.client = mqtt.NewClient(c)
	return l
}

func (l *link) open() { l.client.Connect() } // never fails for good: see SetConnectRetry

func (l *link) receive(_ mqtt.Client, m mqtt.Message) {
	l.mu.Lock()
	if l.closed { // unacknowledged: it comes again, here or elsewhere
		l.mu.Unlock()
		return
	}
	l.handed.Add(1)
	l.mu.Unlock()
	defer l.handed.Done()
	l.handle(m)
}

// subscribe runs at every connect, until it succeeded or the connection is gone.
func (l *link) subscribe() {
	for pause := 100 * time.Millisecond; l.client.IsConnectionOpen(); pause = min(2*pause, 10*time.Second) {
		err := l.trySubscribe()
		if err == nil {
			l.mu.Lock()
			if !l.isUp {
				l.isUp = true
				close(l.up)
			}
			l.mu.Unlock()
			return
		}
		l.log.Error("intake: subscribe failed; trying again", "err", err)
		time.Sleep(pause)
	}
}

func (l *link) trySubscribe() error {
	token := l.client.SubscribeMultiple(l.filters, nil)
	if !token.WaitTimeout(10 * time.Second) { // Wait may hang for ever
		return fmt.Errorf("no answer")
	}
	if err := token.Error(); err != nil {
		return err
	}
	for filter, code := range token.(*mqtt.SubscribeToken).Result() {
		if code > 2 {
			return fmt.Errorf("the broker refuses %s", filter)
		}
	}
	return nil
}

func (l *link) unsubscribe(wait time.Duration) {
	if !l.client.IsConnectionOpen() {
		return
	}
	filters := make([]string, 0, len(l.filters))
	for f := range l.filters {
		filters = append(filters, f)
	}
	if token := l.client.Unsubscribe(filters...); !token.WaitTimeout(wait) || token.Error() != nil {
		l.log.Warn("intake: could not unsubscribe; the broker keeps a share for us", "err", token.Error())
	}
}

func (l *link) lost(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isUp {
		l.isUp = false
		l.up = make(chan struct{})
	}
	if !l.closed {
		l.log.Warn("intake: connection to the MQTT broker lost; reconnecting", "err", err)
	}
}

func (l *link) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isUp && l.client.IsConnectionOpen()
}

func (l *link) await(ctx context.Context) error {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("intake: not subscribed yet: %w", ctx.Err())
	}
}

// publish hands a message to the client at QoS 1 and waits for no token: one
// may complete without an ack, or never. Offline it reports false, rather than
// let the client gather messages that nobody waits for any more.
func (l *link) publish(topic string, payload []byte) bool {
	if !l.client.IsConnectionOpen() {
		return false
	}
	token := l.client.Publish(topic, 1, false, payload)
	select {
	case <-token.Done():
		return token.Error() == nil
	default:
		return true
	}
}

// shut lets no more messages in, and returns once those let in are handed over.
func (l *link) shut() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.handed.Wait()
}

// close disconnects, leaving a moment for what was published.
func (l *link) close() {
	l.shut()
	l.client.Disconnect(250)
}
