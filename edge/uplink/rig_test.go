package uplink_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/edge/standin"
	"vendline/edge/uplink"
	"vendline/shared/wire"
)

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func (s server) cloud(t *testing.T, cabinet string, decide func(wire.Channel, wire.Event) *wire.Verdict) *standin.Cloud {
	t.Helper()
	c, err := standin.Start(deadline(t), standin.Options{Broker: s.url, User: s.user, Password: s.password,
		Client: "cloud-" + cabinet, Cabinet: cabinet, Decide: decide})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

func openBox(t *testing.T, cabinet, dir string) *outbox.Outbox {
	t.Helper()
	box, err := outbox.Open(context.Background(), outbox.Options{Dir: dir, Cabinet: cabinet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	return box
}

func run(t *testing.T, box uplink.Box, s server, cabinet string, cfg uplink.Config) *uplink.Uplink {
	t.Helper()
	u, _ := runStoppable(t, box, s, cabinet, cfg)
	return u
}

func runStoppable(t *testing.T, box uplink.Box, s server, cabinet string, cfg uplink.Config) (*uplink.Uplink, func()) {
	t.Helper()
	cfg.Cabinet, cfg.Username, cfg.Session = cabinet, cabinet, ident.New(nil, nil).V4
	if cfg.Broker == "" {
		cfg.Broker = s.url
	}
	cfg.Password = s.cabinetPassword(cabinet)
	brisk(&cfg.Timing)
	u, err := uplink.New(box, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = u.Run(ctx) }()
	stop := func() { cancel(); <-ended }
	t.Cleanup(stop)
	return u, stop
}

// brisk makes a test wait little where the defaults would wait long.
func brisk(t *uplink.Timing) {
	for at, d := range map[*time.Duration]time.Duration{
		&t.Beat: 100 * time.Millisecond, &t.Resend: 300 * time.Millisecond, &t.ResendMax: time.Second,
		&t.Reconnect: 20 * time.Millisecond, &t.ReconnectMax: 300 * time.Millisecond, &t.Quick: time.Millisecond,
	} {
		if *at == 0 {
			*at = d
		}
	}
}

func id(n int) string {
	b := [16]byte{6: 0x70, 12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
	return ident.Format(b)
}

func order(t *testing.T, box *outbox.Outbox, n int) {
	t.Helper()
	e := outbox.Entry{ID: id(n), Order: &wire.Order{User: "u1", Lines: []wire.Line{{SKU: "cola", Qty: 1}}}}
	if n%5 == 0 {
		e.Order, e.Fact = nil, &wire.Fact{Kind: wire.FactSale, Lines: []wire.Line{{SKU: "cola", Qty: 1}}}
	}
	if _, err := box.Append(context.Background(), e); err != nil {
		t.Fatal(err)
	}
}

// fill appends events from to to, in order; every fifth is a fact.
func fill(t *testing.T, box *outbox.Outbox, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		order(t, box, n)
	}
}

func drained(ctx context.Context, t *testing.T, box *outbox.Outbox) {
	t.Helper()
	eventually(ctx, t, "the outbox is drained", func() bool { return box.Depth() == 0 })
}

func until(ctx context.Context, t *testing.T, c *standin.Cloud, ok func(standin.Seen) bool) standin.Seen {
	t.Helper()
	seen, err := c.Until(ctx, ok)
	if err != nil {
		t.Fatalf("%v; states %+v", err, seen.States)
	}
	return seen
}

func eventually(ctx context.Context, t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

// cutter is a network between an agent and its broker that can be cut.
func cutter(t *testing.T, target string) *wireCutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &wireCutter{listener: l, target: strings.TrimPrefix(target, "tcp://")}
	go c.serve()
	t.Cleanup(func() { l.Close(); c.cut() })
	return c
}

type wireCutter struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	conns    []net.Conn
}

func (c *wireCutter) url() string { return "tcp://" + c.listener.Addr().String() }

func (c *wireCutter) serve() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.target)
		if err != nil {
			near.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, near, far)
		c.mu.Unlock()
		go func() { _, _ = io.Copy(near, far); near.Close() }()
		go func() { _, _ = io.Copy(far, near); far.Close() }()
	}
}

func (c *wireCutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

func noLeaks(t *testing.T) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
}
