package intake_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/cloud/broker"
	"vendline/cloud/intake"
	"vendline/deploy/stack"
)

// site is a broker with cabinets.
type site struct {
	url, user, password string
	names               []string
	passwords           map[string]string
	restart             func(t *testing.T) // ends the broker the hard way and starts it again
}

var cabinetNames = []string{"C0", "C1", "C2", "C3"}

func embedded(t testing.TB) site {
	passwords := map[string]string{}
	for _, n := range cabinetNames {
		passwords[n] = "secret-" + n
	}
	o := broker.Options{CloudPassword: "secret", Log: quiet(), Password: func(id string) (string, bool) { p, ok := passwords[id]; return p, ok }}
	b, err := broker.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return site{url: b.URL(), user: broker.CloudUser, password: "secret", names: cabinetNames, passwords: passwords, restart: func(t *testing.T) {
		o.Addr = b.Addr()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if b, err = broker.Start(o); err != nil {
			t.Fatal(err)
		}
	}}
}

// mosquitto is a broker for this test alone: an intake answers whoever speaks there.
func mosquitto(t testing.TB) site {
	s := stack.Own(t, stack.Options{Mosquitto: true, Cabinets: cabinetNames})
	d, err := s.Description()
	if err != nil {
		t.Fatal(err)
	}
	return site{url: d.MQTTURL, user: d.MQTTUser, password: d.MQTTPassword, names: cabinetNames, passwords: d.Cabinets, restart: func(t *testing.T) {
		if err := s.Mosquitto.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := s.Mosquitto.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}}
}

// eachBroker runs check over the embedded broker, and over the real one unless -short.
func eachBroker(t *testing.T, check func(t *testing.T, s site)) {
	t.Run("mochi", func(t *testing.T) { check(t, embedded(t)) })
	if !testing.Short() {
		t.Run("mosquitto", func(t *testing.T) { check(t, mosquitto(t)) })
	}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// intake starts an instance that is ready when this returns.
func (s site) intake(t testing.TB, client string, shop *shop, change func(*intake.Options)) *intake.Intake {
	t.Helper()
	o := intake.Options{
		Broker: s.url, User: s.user, Password: s.password, Client: client,
		Placer: shop, Facts: shop, DeadLetters: shop, Log: quiet(),
		Now:    func() time.Time { return clock },
		Timing: intake.Timing{Retry: 2 * time.Millisecond, Retries: 2, ReconnectMax: 100 * time.Millisecond, Drain: 500 * time.Millisecond},
	}
	if change != nil {
		change(&o)
	}
	in, err := intake.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := in.Await(ctx); err != nil {
		t.Fatal(err)
	}
	return in
}

// cable is a TCP connection to the broker that can be cut for good, which is
// what the death of a process looks like to everybody else.
type cable struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
	dead     bool
}

func newCable(t *testing.T, to string) *cable {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l}
	t.Cleanup(c.cut)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(to, "tcp://"))
			if err != nil {
				in.Close()
				continue
			}
			c.mu.Lock()
			if c.conns = append(c.conns, in, out); c.dead {
				in.Close()
				out.Close()
			}
			c.mu.Unlock()
			go func() { io.Copy(in, out); in.Close() }()
			go func() { io.Copy(out, in); out.Close() }()
		}
	}()
	return c
}

func (c *cable) url() string { return "tcp://" + c.listener.Addr().String() }

// cut ends it for good.
func (c *cable) cut() {
	c.listener.Close()
	c.mu.Lock()
	c.dead = true
	c.mu.Unlock()
	c.shake()
}

// shake cuts the connections there are; new ones may come.
func (c *cable) shake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}
