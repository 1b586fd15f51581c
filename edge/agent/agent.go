// Package agent puts a cabinet's three steps together: scan, outbox, uplink. The
// binary, the demo and the drills all start a cabinet through it.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"vendline/edge/allowance"
	"vendline/edge/dispense"
	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/edge/planogram"
	"vendline/edge/scan"
	"vendline/edge/uplink"
	"vendline/shared/wire"
)

// Config of an agent. Cabinet, Data, Listen and MQTT are required.
type Config struct {
	Cabinet        string
	Data           string // folder of the outbox
	Listen         string // 127.0.0.1:7001, 127.0.0.1:0 or unix:/path
	ListenAnywhere bool
	MQTT           string // tcp://host:1883
	MQTTUser       string // empty means the cabinet
	MQTTPassword   string
	MaxSize        int64 // bytes of the outbox; 0 means 256 MiB
	Window         int   // rows in flight; 0 means 256
	Timing         uplink.Timing
	Dispense       dispense.Timing
	Version        string

	// Check examines the outbox file before it is opened; nil does so in this
	// process. The binary passes outbox.CheckInChild.
	Check func(ctx context.Context, path string) error

	Now    func() time.Time // wall clock; nil means the real one
	Random io.Reader        // ids; nil means crypto/rand
	Jitter func() float64   // waits; nil means math/rand
	Log    *slog.Logger     // nil discards
}

// Agent is one cabinet's agent, with its outbox open and its address taken.
type Agent struct {
	cfg      Config
	box      *outbox.Outbox
	link     *uplink.Uplink
	orders   orders
	api      scan.Config
	listener net.Listener
	close    sync.Once
	closed   error
}

// tidyEvery is how often the outbox is asked whether it needs compacting.
const tidyEvery = time.Minute

// New checks and opens the outbox, then takes the address. Close must be called.
func New(ctx context.Context, cfg Config) (*Agent, error) {
	if !wire.ValidCabinet(cfg.Cabinet) {
		return nil, fmt.Errorf("agent: cabinet %q is not 1 to 32 letters, digits, '_' or '-'", cfg.Cabinet)
	}
	if cfg.MQTTUser == "" {
		cfg.MQTTUser = cfg.Cabinet
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	mono := sinceStart()
	mint := ident.New(cfg.Now, cfg.Random)
	box, err := outbox.Open(ctx, outbox.Options{Dir: cfg.Data, MaxSize: cfg.MaxSize, Cabinet: cfg.Cabinet, Check: cfg.Check,
		Mint: mint, Now: cfg.Now, Mono: mono, Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	a := &Agent{cfg: cfg, box: box}
	err = a.assemble(mint, mono)
	if err == nil {
		a.listener, err = scan.Listen(ctx, cfg.Listen, cfg.ListenAnywhere)
	}
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	return a, nil
}

// assemble builds what stands on the open outbox.
func (a *Agent) assemble(mint *ident.Mint, mono func() time.Duration) (err error) {
	cfg, o := a.cfg, orders{shelf: new(scan.Shelf), mono: mono, log: a.cfg.Log}
	run, err := mint.V4()
	if err != nil {
		return err
	}
	if o.journal, err = dispense.Open(a.box, dispense.Options{Mono: mono, Now: cfg.Now, Run: run, Lost: a.box.Gap(), Timing: cfg.Dispense, Log: cfg.Log}); err != nil {
		return err
	}
	if o.allowance, err = allowance.Open(a.box); err != nil {
		return err
	}
	o.planogram = planogram.New(a.box, cfg.Cabinet, cfg.Now)
	// The asker needs the uplink to send by, and the uplink needs to tell the asker.
	o.asker = dispense.NewAsker(o.journal, cfg.Cabinet, mint.V4, cfg.Jitter, func(q wire.Ask) bool { return a.link.Ask(q) })
	a.link, err = uplink.New(a.box, uplink.Config{Cabinet: cfg.Cabinet, Agent: cfg.Version, Broker: cfg.MQTT, Username: cfg.MQTTUser,
		Password: cfg.MQTTPassword, Window: cfg.Window, Timing: cfg.Timing, Session: mint.V4, Now: cfg.Now, Mono: mono, Jitter: cfg.Jitter,
		Command: o.take, Connected: o.asker.Connected, Log: cfg.Log})
	if err != nil {
		return err
	}
	a.orders = o
	a.api = scan.Config{Cabinet: cfg.Cabinet, Version: cfg.Version, Box: a.box, Link: a.link, Shelf: o.shelf, Commands: o.journal,
		Allowance: o.allowance, Planogram: o.planogram, Mint: mint, Now: cfg.Now, Mono: mono, Log: cfg.Log}
	return nil
}

// Addr is the address of the local API, as net.Dial wants it.
func (a *Agent) Addr() net.Addr { return a.listener.Addr() }

// URL is the base of the local API; empty for a Unix socket.
func (a *Agent) URL() string {
	if a.Addr().Network() == "unix" {
		return ""
	}
	return "http://" + a.Addr().String()
}

// Epoch of the outbox.
func (a *Agent) Epoch() string { return a.box.Epoch() }

// Depth is how many rows wait for the cloud's answer.
func (a *Agent) Depth() int64 { return a.box.Depth() }

// Health is what GET /v1/health answers.
func (a *Agent) Health() (scan.Health, error) { return scan.ReadHealth(a.api) }

// Run serves and delivers until ctx ends (then it returns nil, with posted
// events safe and goodbyes said), or until the outbox turns out to be damaged:
// the process should then end and start again, which sets the file aside.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.cfg.Log.Info("agent runs", "cabinet", a.cfg.Cabinet, "listen", a.Addr().String(), "epoch", a.box.Epoch(), "waiting", a.box.Depth())
	var parts sync.WaitGroup
	part := func(name string, run func(context.Context) error) {
		parts.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("agent: %s: %w", name, err))
			}
		})
	}
	part("local API", func(ctx context.Context) error { return scan.Serve(ctx, a.listener, a.api) })
	part("uplink", a.link.Run)
	part("commands", a.orders.journal.Run)
	part("questions", a.orders.asker.Run)
	part("outbox", a.keepTidy)
	<-ctx.Done()
	parts.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func (a *Agent) keepTidy(ctx context.Context) error {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.box.Broken():
			return a.box.Err()
		case <-tick.C:
		}
		if _, err := a.box.Tidy(); err != nil {
			a.cfg.Log.Error("outbox not compacted", "err", err)
		}
	}
}

// Close gives back the address and the outbox. Run must have returned, or never
// been called.
func (a *Agent) Close() error {
	a.close.Do(func() {
		_ = a.listener.Close() // Run has closed it already, if it ran
		a.closed = a.box.Close()
	})
	return a.closed
}
