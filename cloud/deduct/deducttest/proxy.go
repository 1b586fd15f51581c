package deducttest

import (
	"bytes"
	"net"
	"sync/atomic"
)

// proxy carries bytes to a server and, while it is mute, none back: what was
// asked is done, and nobody hears of it.
type proxy struct {
	addr    string
	mute    atomic.Bool
	carried atomic.Int64 // script calls seen while mute
}

func newProxy(t T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{addr: l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			go p.carry(server, client, p.asked)
			go p.carry(client, server, p.answered)
		}
	}()
	return p
}

func (p *proxy) asked(b []byte) bool {
	if p.mute.Load() {
		p.carried.Add(int64(bytes.Count(b, []byte("evalsha"))))
	}
	return true
}

func (p *proxy) answered([]byte) bool { return !p.mute.Load() }

// carry copies what pass lets through until either side ends.
func (p *proxy) carry(to, from net.Conn, pass func([]byte) bool) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if n > 0 && pass(b[:n]) {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
