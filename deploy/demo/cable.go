package demo

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
)

// cable is the network between one cabinet and the broker, which the demo
// pulls out now and then.
type cable struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	pulled bool
	conns  map[net.Conn]struct{}
}

// layCable listens on loopback and passes everything on to a broker at
// tcp://host:port.
func layCable(ctx context.Context, broker string) (*cable, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &cable{listener: l, to: strings.TrimPrefix(broker, "tcp://"), conns: map[net.Conn]struct{}{}}
	go c.accept()
	return c, nil
}

func (c *cable) url() string { return "tcp://" + c.listener.Addr().String() }

// pull cuts every connection, and refuses new ones until plug.
func (c *cable) pull() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulled = true
	for conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *cable) plug() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulled = false
}

func (c *cable) close() {
	_ = c.listener.Close()
	c.pull()
}

func (c *cable) accept() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.to)
		if err != nil || !c.keep(near, far) {
			_ = near.Close()
			if far != nil {
				_ = far.Close()
			}
			continue
		}
		go c.pass(near, far)
		go c.pass(far, near)
	}
}

func (c *cable) keep(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		if !c.pulled {
			c.conns[conn] = struct{}{}
		}
	}
	return !c.pulled
}

func (c *cable) pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_ = from.Close()
	_ = to.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, from)
	delete(c.conns, to)
}
