package ledgertest

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

// cutter stands between a ledger and its server, and cuts connections at the
// worst of moments: before a statement arrives, and after a commit was carried
// out but before the client hears so.
type cutter struct {
	listener net.Listener
	server   string
	requests atomic.Int64
	commits  atomic.Int64
	lost     atomic.Int64 // requests that never arrived
	unheard  atomic.Int64 // commits whose answer was lost
	open     sync.WaitGroup
}

// cutting returns a cutter and the fixture's DSN by way of it.
func (f *Fixture) cutting() (*cutter, string) {
	f.t.Helper()
	config, err := mysql.ParseDSN(f.dsn)
	f.ok(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	f.ok(err)
	c := &cutter{listener: l, server: config.Addr}
	f.t.Cleanup(func() { _ = l.Close(); c.open.Wait() })
	c.open.Go(c.accept)
	config.Addr = l.Addr().String()
	return c, config.FormatDSN()
}

func (c *cutter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p := &pair{c: c, client: client, server: server}
		c.open.Go(p.requests)
		c.open.Go(p.replies)
	}
}

// pair is one connection's both halves.
type pair struct {
	c              *cutter
	client, server net.Conn
	deaf           atomic.Bool // the next reply is not handed on
}

func (p *pair) close() {
	_ = p.client.Close()
	_ = p.server.Close()
}

// requests hands on what the client says; every 37th time it does not, and
// after every 5th commit the client will not hear what came of it.
func (p *pair) requests() {
	defer p.close()
	b := make([]byte, 1<<16)
	for {
		n, err := p.client.Read(b)
		if err != nil {
			return
		}
		if bytes.Contains(b[:n], []byte("COMMIT")) {
			if p.c.commits.Add(1)%5 == 0 {
				p.c.unheard.Add(1)
				p.deaf.Store(true)
			}
		} else if p.c.requests.Add(1)%37 == 0 {
			p.c.lost.Add(1)
			return
		}
		if _, err := p.server.Write(b[:n]); err != nil {
			return
		}
	}
}

func (p *pair) replies() {
	defer p.close()
	b := make([]byte, 1<<16)
	for {
		n, err := p.server.Read(b)
		if err != nil || p.deaf.Load() {
			return
		}
		if _, err := p.client.Write(b[:n]); err != nil {
			return
		}
	}
}
