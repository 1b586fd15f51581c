// Package broker is a mochi-mqtt broker in this process, for tests of the edge:
// it needs nothing installed and can be stopped and started on one address.
package broker

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

// Broker is a running broker. It keeps its address over Stop and Start, and
// forgets everything else, as a broker without a disk does.
type Broker struct {
	addr     string
	listener net.Listener
	server   *mochi.Server
}

// Start listens on addr ("127.0.0.1:0" for any port).
func Start(addr string) (*Broker, error) {
	b := &Broker{addr: addr}
	return b, b.Start()
}

// URL is what clients connect to.
func (b *Broker) URL() string { return "tcp://" + b.addr }

// Start starts the broker again after Stop.
func (b *Broker) Start() error {
	l, err := net.Listen("tcp", b.addr)
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	b.addr, b.listener = l.Addr().String(), l
	b.server = mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler)})
	if err := b.server.AddHook(new(access), nil); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	if err := b.server.AddListener(listeners.NewNet("tcp", l)); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return b.server.Serve()
}

// Stop closes every connection without a goodbye.
func (b *Broker) Stop() error {
	// mochi's own Close can lock up for ever when a client leaves in the same
	// instant (it locks its clients for reading twice), so all are cut before.
	_ = b.listener.Close()
	for range 500 {
		for _, cl := range b.server.Clients.GetAll() {
			if !cl.Closed() {
				cl.Stop(errStopped)
			}
		}
		if atomic.LoadInt64(&b.server.Info.ClientsConnected) == 0 {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return b.server.Close()
}

var errStopped = errors.New("the broker stops")

// Kick cuts the connection of a client, as a network would.
func (b *Broker) Kick(client string) bool {
	cl, ok := b.server.Clients.Get(client)
	if ok {
		cl.Stop(fmt.Errorf("kicked"))
	}
	return ok
}

// Connected counts the clients that are connected now.
func (b *Broker) Connected() int {
	n := 0
	for _, cl := range b.server.Clients.GetAll() {
		if !cl.Closed() && !cl.Net.Inline {
			n++
		}
	}
	return n
}

// access lets everybody in, and an agent near its own cabinet's topics only.
type access struct{ mochi.HookBase }

func (*access) ID() string { return "access" }

func (*access) Provides(b byte) bool {
	return bytes.Contains([]byte{mochi.OnConnectAuthenticate, mochi.OnACLCheck}, []byte{b})
}

func (*access) OnConnectAuthenticate(*mochi.Client, packets.Packet) bool { return true }

func (*access) OnACLCheck(cl *mochi.Client, topic string, _ bool) bool {
	cabinet, isAgent := strings.CutPrefix(cl.ID, "edge-")
	return !isAgent || strings.HasPrefix(topic, "vend/v1/"+cabinet+"/")
}
