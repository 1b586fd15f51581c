package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// link is one MQTT client that keeps itself connected and subscribed.
type link struct {
	client  mqtt.Client
	options *mqtt.ClientOptions
	filters map[string]byte
	log     *slog.Logger
	jitter  func() float64
	handle  func(mqtt.Message)

	mu     sync.Mutex
	closed bool
	handed sync.WaitGroup // handlers that were let in
	out    chan outgoing
	hush   chan struct{} // closed when nobody has anything more to say
	said   chan struct{} // closed when all of it was said
	up     chan struct{} // closed while subscribed; replaced when the connection is lost
	isUp   bool
}

// kind says what a link needs from its session.
type kind struct {
	clean   bool // the broker forgets it when the connection ends
	ordered bool // messages come one after the other, else concurrently
}

// newLink makes a link; open begins to connect. handle must not block.
func newLink(o Options, id string, kind kind, handle func(mqtt.Message), filters ...string) *link {
	l := &link{filters: map[string]byte{}, log: o.Log, jitter: o.Jitter, handle: handle, up: make(chan struct{}), out: make(chan outgoing, outQueue), hush: make(chan struct{}), said: make(chan struct{})}
	for _, f := range filters {
		l.filters[f] = 1
	}
	c := mqtt.NewClientOptions().AddBroker(o.Broker).SetClientID(id).SetUsername(o.User).SetPassword(o.Password)
	c.SetProtocolVersion(4)
	c.SetCleanSession(kind.clean)
	c.SetAutoAckDisabled(true)      // after the commit
	c.SetOrderMatters(kind.ordered) // off: each message on a goroutine of its own, and none stalls the client
	c.SetConnectRetry(true)         // else the first connect is tried once
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
	l.options, l.client = c, mqtt.NewClient(c)
	return l
}

// hear adds a filter whose messages may get lost (QoS 0); before open.
func (l *link) hear(filter string) { l.filters[filter] = 0 }

func (l *link) open() {
	l.client.Connect() // never fails for good: see SetConnectRetry
	go l.speak()
}

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

// shut lets no more messages in, and returns once those let in are handed over.
func (l *link) shut() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.handed.Wait()
}

// close disconnects, leaving a moment for what is still to be said.
func (l *link) close() {
	l.shut()
	close(l.hush)
	select {
	case <-l.said:
	case <-time.After(time.Second):
	}
	l.client.Disconnect(250)
}

// forget makes the broker drop the session of a link that is closed, by a clean
// one in its place. An UNSUBSCRIBE would do less: mosquitto 2.0.11 answers that
// of a shared subscription by closing the connection.
func (l *link) forget() error {
	c := *l.options
	c.SetCleanSession(true).SetConnectRetry(false).SetAutoReconnect(false)
	c.OnConnect, c.OnConnectionLost = nil, nil
	client := mqtt.NewClient(&c)
	token := client.Connect()
	defer client.Disconnect(100)
	if !token.WaitTimeout(c.ConnectTimeout) {
		return errors.New("no answer")
	}
	return token.Error()
}
