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
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
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
	server *mochi.Server
	addr   string
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
	return &Broker{server: server, addr: l.Addr().String()}, nil
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
func (b *Broker) URL() string { return "tcp://" + b.addr }

// Addr is host:port.
func (b *Broker) Addr() string { return b.addr }

// Close gives clients that are connected a second to acknowledge what they were
// sent, then closes all connections and waits for them.
func (b *Broker) Close() error {
	for deadline := time.Now().Add(time.Second); b.busy() && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if err := b.server.Close(); err != nil {
		return fmt.Errorf("broker: close: %w", err)
	}
	return nil
}

func (b *Broker) busy() bool {
	for _, c := range b.server.Clients.GetAll() {
		if !c.Closed() && c.State.Inflight.Len() > 0 {
			return true
		}
	}
	return false
}
