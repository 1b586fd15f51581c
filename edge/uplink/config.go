package uplink

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// Box is the outbox as the uplink needs it. *outbox.Outbox is one.
type Box interface {
	Epoch() string
	Gap() bool
	Depth() int64
	Parked() int64
	// Arrived receives a token after rows were appended.
	Arrived() <-chan struct{}
	// Pending returns waiting rows with seq > after, in order.
	Pending(after int64, limit int) ([]outbox.Row, error)
	// Row returns a waiting row, or ok false once it is settled or parked.
	Row(seq int64) (row outbox.Row, ok bool, err error)
	Event(outbox.Row) wire.Event
	// Settle stores answers and deletes their rows before it returns.
	Settle(ctx context.Context, answers []outbox.Answer) error
	Park(ctx context.Context, seq int64, code wire.Code, reason string) error
}

// Config of an uplink. Cabinet, Broker and Session are required.
type Config struct {
	Cabinet  string
	Agent    string // version, told in the birth message
	Broker   string // tcp://host:1883, or ssl://host:8883
	Username string
	Password string

	Window int // most rows sent and not yet answered; 0 means 256
	Timing Timing

	Session func() (string, error) // names one connection
	Now     func() time.Time       // wall clock, told to the cloud and used for nothing else
	Mono    func() time.Duration   // monotonic; everything is timed by it
	Jitter  func() float64         // in [0, 1)
	// Command takes what the cloud tells, in order; it is acknowledged to the
	// broker afterwards. It may write to the disk, as storing answers does.
	Command   func(context.Context, wire.Command)
	Connected func() // called on every new connection; must not block
	Log       *slog.Logger
}

// Timing holds every interval. Zero fields take the defaults in brackets.
type Timing struct {
	Beat         time.Duration // [15 s] between beats
	Resend       time.Duration // [5 s] until a row is sent again the first time
	ResendMax    time.Duration // [60 s] it grows up to
	Reconnect    time.Duration // [2 s] spread of the first reconnects after a loss
	ReconnectMax time.Duration // [60 s] it grows up to
	Quick        time.Duration // [10 s] a connection lost sooner may have been taken over
	ConflictMax  time.Duration // [5 min] the wait grows up to while two agents fight
	Handshake    time.Duration // [15 s] to connect and subscribe
	KeepAlive    time.Duration // [30 s]
	Write        time.Duration // [10 s] a dead peer may hold a write up
}

func (c *Config) fill() error {
	if !wire.ValidCabinet(c.Cabinet) {
		return errors.New("uplink: a cabinet is 1 to 32 letters, digits, '_' or '-'")
	}
	if c.Broker == "" || c.Session == nil {
		return errors.New("uplink: broker and session are required")
	}
	if c.Window <= 0 {
		c.Window = 256
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Mono == nil {
		began := time.Now()
		c.Mono = func() time.Duration { return time.Since(began) }
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	if c.Command == nil {
		c.Command = func(context.Context, wire.Command) {}
	}
	if c.Connected == nil {
		c.Connected = func() {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Timing.fill()
	return nil
}

func (t *Timing) fill() {
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{
		{&t.Beat, 15 * time.Second}, {&t.Resend, 5 * time.Second}, {&t.ResendMax, time.Minute},
		{&t.Reconnect, 2 * time.Second}, {&t.ReconnectMax, time.Minute}, {&t.Quick, 10 * time.Second},
		{&t.ConflictMax, 5 * time.Minute}, {&t.Handshake, 15 * time.Second}, {&t.KeepAlive, 30 * time.Second},
		{&t.Write, 10 * time.Second},
	} {
		if *d.at <= 0 {
			*d.at = d.def
		}
	}
}
