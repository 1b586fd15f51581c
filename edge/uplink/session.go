package uplink

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"vendline/shared/wire"
)

// session is one connection and its name. The name is in the birth message and
// in the last will: a will that arrives late names a session that is over, and
// can not take the next one for dead.
type session struct {
	id     string
	client mqtt.Client
	out    chan message
	dead   chan struct{} // closed when the connection is lost or left
	once   sync.Once
	why    error // of dead
}

type message struct {
	topic   string
	qos     byte
	retain  bool
	payload []byte
	token   chan<- mqtt.Token // if somebody wants it; buffered
}

func (s *session) end(why error) {
	s.once.Do(func() {
		s.why = why
		close(s.dead)
	})
}

// connect opens a connection, subscribes, and says so to the cloud.
func (u *Uplink) connect(ctx context.Context) (*session, error) {
	id, err := u.cfg.Session()
	if err != nil {
		return nil, err
	}
	s := &session{id: id, out: make(chan message), dead: make(chan struct{})}
	s.client = mqtt.NewClient(u.options(ctx, s))
	for topic, handler := range u.routes() { // before Connect: queued answers come at once
		s.client.AddRoute(topic, handler)
	}
	ctx, cancel := context.WithTimeout(ctx, u.cfg.Timing.Handshake)
	defer cancel()
	if err := s.wait(ctx, s.client.Connect()); err != nil {
		s.close(0)
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := u.subscribe(ctx, s); err != nil {
		s.close(0)
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	go s.pump()
	s.publish(u.stateMessage(s, true))
	return s, nil
}

func (u *Uplink) options(ctx context.Context, s *session) *mqtt.ClientOptions {
	t := u.cfg.Timing
	o := mqtt.NewClientOptions().AddBroker(u.cfg.Broker)
	o.SetClientID("edge-" + u.cfg.Cabinet)
	o.SetUsername(u.cfg.Username).SetPassword(u.cfg.Password)
	o.SetProtocolVersion(4)
	o.SetCleanSession(false)   // the broker keeps answers for us while we are away
	o.SetAutoReconnect(false)  // see the package doc
	o.SetConnectRetry(false)   // likewise
	o.SetAutoAckDisabled(true) // an answer is acknowledged once it is stored
	o.SetOrderMatters(true)    // what was said last is heard last; receive never blocks
	o.SetWriteTimeout(t.Write) // else a dead peer blocks a write for ever
	o.SetKeepAlive(t.KeepAlive).SetPingTimeout(t.Handshake / 2)
	o.SetConnectTimeout(t.Handshake)
	o.SetBinaryWill(wire.Topic(u.cfg.Cabinet, wire.ChannelState), wire.Encode(u.state(s.id, false)), 1, true)
	o.SetConnectionLostHandler(func(_ mqtt.Client, err error) { s.end(err) })
	o.SetCustomOpenConnectionFn(func(uri *url.URL, _ mqtt.ClientOptions) (net.Conn, error) { return dial(ctx, uri, t.Handshake) })
	return o
}

// dial ends with ctx, which paho's own does not.
func dial(ctx context.Context, uri *url.URL, timeout time.Duration) (net.Conn, error) {
	d := &net.Dialer{Timeout: timeout}
	switch uri.Scheme {
	case "tcp", "mqtt":
		return d.DialContext(ctx, "tcp", uri.Host)
	case "unix":
		return d.DialContext(ctx, "unix", uri.Host+uri.Path)
	case "ssl", "tls", "tcps", "mqtts":
		return (&tls.Dialer{NetDialer: d, Config: &tls.Config{ServerName: uri.Hostname(), MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", uri.Host)
	}
	return nil, fmt.Errorf("broker scheme %q is not supported", uri.Scheme)
}

func (u *Uplink) subscribe(ctx context.Context, s *session) error {
	filters := make(map[string]byte)
	for topic := range u.routes() {
		filters[topic] = 1
	}
	token := s.client.SubscribeMultiple(filters, nil) // nil: the routes are there already
	if err := s.wait(ctx, token); err != nil {
		return err
	}
	for topic, code := range token.(*mqtt.SubscribeToken).Result() {
		if code == 0x80 {
			return fmt.Errorf("the broker refused %s", topic)
		}
	}
	return nil
}

// wait is for the handshake's tokens alone. Token.Wait may hang for ever.
func (s *session) wait(ctx context.Context, token mqtt.Token) error {
	select {
	case <-token.Done():
		return token.Error()
	case <-s.dead:
		return fmt.Errorf("connection lost: %w", s.why)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// publish hands a message to paho and waits for no token. It reports whether the
// connection was open; if it breaks right after, the row is simply sent again.
func (s *session) publish(m message) bool {
	select {
	case s.out <- m:
		return true
	case <-s.dead:
		return false
	}
}

// pump calls Publish on a goroutine of its own: on a connection that has just
// broken it blocks for the whole write timeout (Timing.Write), and neither the
// next connection nor the end of Run shall wait for that.
func (s *session) pump() {
	for {
		select {
		case <-s.dead:
			return
		case m := <-s.out:
			if !s.client.IsConnectionOpen() {
				continue // dead is about to be closed
			}
			token := s.client.Publish(m.topic, m.qos, m.retain, m.payload)
			if m.token != nil {
				m.token <- token
			}
		}
	}
}

// leave says goodbye: a clean disconnect sends no will, so the cloud is told.
func (u *Uplink) leave(s *session) {
	patience := time.After(time.Second)
	said := make(chan mqtt.Token, 1)
	m := u.stateMessage(s, false)
	m.token = said
	if s.publish(m) {
		select {
		case token := <-said:
			select {
			case <-token.Done():
			case <-s.dead:
			case <-patience:
			}
		case <-s.dead:
		case <-patience:
		}
	}
	s.close(250 * time.Millisecond)
}

// close ends the connection, if there still is one.
func (s *session) close(quiesce time.Duration) {
	s.end(errLeft)
	s.client.Disconnect(uint(quiesce.Milliseconds()))
}

func (u *Uplink) stateMessage(s *session, online bool) message {
	return message{topic: wire.Topic(u.cfg.Cabinet, wire.ChannelState), qos: 1, retain: true, payload: wire.Encode(u.state(s.id, online))}
}

func (u *Uplink) state(session string, online bool) wire.State {
	return wire.State{V: wire.Version, Cabinet: u.cfg.Cabinet, Session: session, Online: online,
		Epoch: u.box.Epoch(), Gap: u.box.Gap(), Agent: u.cfg.Agent}
}
