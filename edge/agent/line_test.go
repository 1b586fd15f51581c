package agent_test

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// line is a network between an agent and its broker. It can be cut, and it can
// hold back what comes down.
type line struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	conns []net.Conn
	dark  bool
	gate  chan struct{} // nil: open; else closed by release
}

func newLine(t *testing.T, target string) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &line{listener: l, target: strings.TrimPrefix(target, "tcp://")}
	go n.serve()
	t.Cleanup(func() { l.Close(); n.release(); n.down() })
	return n
}

func (n *line) url() string { return "tcp://" + n.listener.Addr().String() }

func (n *line) serve() {
	for {
		near, err := n.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", n.target)
		if err != nil || !n.add(near, far) {
			near.Close()
			if far != nil {
				far.Close()
			}
			continue
		}
		go n.carry(far, near, false)
		go n.carry(near, far, true)
	}
}

func (n *line) add(conns ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dark {
		return false
	}
	n.conns = append(n.conns, conns...)
	return true
}

// carry copies from one end to the other, through the gate when it comes down.
func (n *line) carry(to, from net.Conn, down bool) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		size, err := from.Read(buf)
		if down {
			n.pass()
		}
		if size > 0 {
			if _, err := to.Write(buf[:size]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (n *line) pass() {
	n.mu.Lock()
	gate := n.gate
	n.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

// hold keeps back what comes down from now on, until release.
func (n *line) hold() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gate = make(chan struct{})
}

func (n *line) release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gate != nil {
		close(n.gate)
		n.gate = nil
	}
}

// down cuts every connection and lets none through until up.
func (n *line) down() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dark = true
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
}

func (n *line) up() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dark = false
}
