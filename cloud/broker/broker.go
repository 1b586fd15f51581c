// Package broker is the MQTT broker of embedded mode: mochi-mqtt in this
// process, with the same rules about who may say what as the real one.
//
// It has no disk. A cabinet keeps every event until the cloud's own answer, so
// a broker that forgets costs a resend and nothing else.
package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync/atomic"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

// CloudUser is the user that may publish and subscribe everywhere under
// vend/v1/. No cabinet may be called so.
const CloudUser = "cloud"

// maxPacket bounds a packet, in bytes; the real broker has the same limit.
const maxPacket = 1 << 20

// Options of a broker.
type Options struct {
	Addr          string                                          // where to listen; empty means a free port of 127.0.0.1
	CloudPassword string                                          // of CloudUser; must not be empty
	Password      func(cabinet string) (password string, ok bool) // concurrent; nil means that no cabinet may connect
	Log           *slog.Logger                                    // nil means slog.Default()
}

// Broker is a running broker.
type Broker struct {
	server   *mochi.Server
	listener net.Listener
}

// Start listens and serves until Close.
func Start(o Options) (*Broker, error) {
	if o.CloudPassword == "" {
		return nil, errors.New("broker: the cloud's password must not be empty")
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	server := mochi.New(&mochi.Options{
		Logger:                   slog.New(above{o.Log.Handler(), slog.LevelError}),
		Capabilities:             capabilities(),
		ClientNetReadBufferSize:  8 << 10,
		ClientNetWriteBufferSize: 8 << 10,
		SysTopicResendInterval:   int64(time.Hour / time.Second), // nobody reads $SYS here
	})
	rules := &access{server: server, cloud: o.CloudPassword, cabinet: o.Password}
	if err := server.AddHook(rules, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("broker: %w", err), l.Close())
	}
	if err := server.AddListener(listeners.NewNet("tcp", l)); err != nil {
		return nil, errors.Join(fmt.Errorf("broker: %w", err), l.Close())
	}
	if err := server.Serve(); err != nil {
		return nil, errors.Join(fmt.Errorf("broker: %w", err), l.Close())
	}
	return &Broker{server: server, listener: l}, nil
}

// capabilities lift mochi's limits: the intake is one client that receives what
// all cabinets send, and what is over a limit would be dropped.
func capabilities() *mochi.Capabilities {
	c := mochi.NewDefaultServerCapabilities()
	c.MaximumInflight = math.MaxUint16
	c.ReceiveMaximum = math.MaxUint16
	c.MaximumClientWritesPending = 16 << 10
	c.MaximumPacketSize = maxPacket
	return c
}

// URL is what clients connect to.
func (b *Broker) URL() string { return "tcp://" + b.Addr() }

// Addr is host:port.
func (b *Broker) Addr() string { return b.listener.Addr().String() }

// Close takes no more connections, gives clients a second to acknowledge what
// they were sent, then closes all connections and waits for them.
func (b *Broker) Close() error {
	err := b.listener.Close()
	settle(func() bool { return !b.busy() })
	// mochi's own Close can lock up for ever when a client leaves in the same
	// instant (GetByListener locks for reading twice), so nobody is left by then.
	for _, c := range b.server.Clients.GetAll() {
		if !c.Closed() {
			_ = b.server.DisconnectClient(c, packets.ErrServerShuttingDown)
		}
	}
	settle(func() bool { return atomic.LoadInt64(&b.server.Info.ClientsConnected) == 0 })
	if err := errors.Join(err, b.server.Close()); err != nil {
		return fmt.Errorf("broker: close: %w", err)
	}
	return nil
}

// settle waits until ok, a second at most.
func settle(ok func() bool) {
	for deadline := time.Now().Add(time.Second); !ok() && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond)
	}
}

func (b *Broker) busy() bool {
	for _, c := range b.server.Clients.GetAll() {
		if !c.Closed() && c.State.Inflight.Len() > 0 {
			return true
		}
	}
	return false
}
