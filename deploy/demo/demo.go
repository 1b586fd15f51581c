// Package demo is Vendline in one process, for a newcomer's first minute: ten
// cabinets running the real agent over real MQTT, the real cloud service on its
// embedded parts, and shoppers who buy. Only Go is needed.
//
// State lives in one folder and survives kill -9: what was acknowledged before
// is there after.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/order"
	"vendline/edge/agent"
)

// Config of a demo.
type Config struct {
	Dir      string        // where state lives
	HTTP     string        // address of the page; a busy port falls back to a free one
	Cabinets int           // C001, C002, …; 0 means 10
	Hold     time.Duration // how long an unpaid order keeps its stock; 0 means 45 s
	Quiet    bool          // no shoppers
	Out      io.Writer     // what a newcomer reads
	Log      *slog.Logger
	Deps     app.Deps
}

// Demo is a running demo.
type Demo struct {
	cfg    Config
	Cloud  *app.App
	Agents []Cabinet
	cable  *cable // of one of them
	cabled int
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

// Cabinet is one cabinet's agent.
type Cabinet struct {
	ID string
	*agent.Agent
}

// Start brings everything up. Close must be called.
func Start(ctx context.Context, cfg Config) (*Demo, error) {
	if cfg.Cabinets <= 0 {
		cfg.Cabinets = 10
	}
	if cfg.Hold <= 0 {
		cfg.Hold = 45 * time.Second
	}
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	http, err := freeAddress(cfg.HTTP)
	if err != nil {
		return nil, fmt.Errorf("demo: find a port: %w", err)
	}
	passwords := newPasswords(cfg.Cabinets)
	cloud, err := app.New(ctx, app.Config{
		HTTP: http, Hold: cfg.Hold, Instance: "demo",
		Ledger: "sqlite:" + filepath.Join(cfg.Dir, "ledger.db"), Stock: "embedded",
		Queue: "bolt:" + filepath.Join(cfg.Dir, "queue.db"), MQTT: "embedded://127.0.0.1:0",
		MQTTPassword: rand.Text(), CabinetPassword: passwords.of, Sandbox: "embedded:" + filepath.Join(cfg.Dir, "sandbox.db"),
	}, cfg.Deps)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	d := &Demo{cfg: cfg, Cloud: cloud}
	running, stop := context.WithCancel(context.Background())
	d.stop = stop
	if err := seed(ctx, cloud, passwords.cabinets()); err != nil {
		d.Close()
		return nil, err
	}
	d.wg.Go(func() {
		if err := cloud.Serve(running); err != nil {
			cfg.Log.Error("the cloud service ended", "error", err)
		}
	})
	if d.cable, err = layCable(ctx, cloud.MQTTURL()); err != nil {
		d.Close()
		return nil, fmt.Errorf("demo: %w", err)
	}
	d.cabled = cfg.Cabinets - 1
	for i, c := range passwords.cabinets() {
		pw, _ := passwords.of(c)
		broker := cloud.MQTTURL()
		if i == d.cabled {
			broker = d.cable.url()
		}
		a, err := agent.New(ctx, agent.Config{
			Cabinet: c, Data: filepath.Join(cfg.Dir, "cabinets", c), Listen: "127.0.0.1:0",
			MQTT: broker, MQTTPassword: pw, MaxSize: 32 << 20, Version: "demo", Log: cfg.Log.With("cabinet", c),
		})
		if err != nil {
			d.Close()
			return nil, fmt.Errorf("demo: cabinet %s: %w", c, err)
		}
		d.Agents = append(d.Agents, Cabinet{c, a})
		d.wg.Go(func() {
			if err := a.Run(running); err != nil && !errors.Is(err, context.Canceled) {
				cfg.Log.Error("an agent ended", "cabinet", c, "error", err)
			}
		})
	}
	for _, a := range d.Agents {
		d.wg.Go(func() { d.firmware(running, a) })
	}
	if !cfg.Quiet {
		d.wg.Go(func() { d.shop(running) })
		d.stories(running)
	}
	return d, nil
}

// Close stops the shoppers, lets the agents and the service finish what is
// under way, and leaves the rest durable in the folder.
func (d *Demo) Close() {
	d.stop()
	d.wg.Wait()
	for _, a := range d.Agents {
		_ = a.Close()
	}
	if d.cable != nil {
		d.cable.close()
	}
	d.Cloud.Close()
}

// URL of the page.
func (d *Demo) URL() string { return "http://" + d.Cloud.HTTPAddr() }

// seed lists the products and gives each new cabinet its opening stock.
func seed(ctx context.Context, cloud *app.App, cabinets []string) error {
	if err := cloud.Ledger.AddProducts(ctx, Products()...); err != nil {
		return fmt.Errorf("demo: list products: %w", err)
	}
	for i, c := range cabinets {
		opening := map[string]int64{}
		for j, p := range Products() {
			opening[p.SKU] = int64(12 + (i*7+j*5)%19)
		}
		if err := cloud.Ledger.AddCabinet(ctx, c, opening); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	return nil
}

// Products are what the demo's cabinets sell.
func Products() []order.Product {
	return []order.Product{
		{SKU: "puzzle", Name: "Puzzle (its payments lose their callback)", Price: priceLost, Currency: "CNY"},
		{SKU: "globe", Name: "Globe (its payments come late)", Price: priceLate, Currency: "CNY"},
		{SKU: "cola", Name: "Cola 330 ml", Price: 350, Currency: "CNY"},
		{SKU: "water", Name: "Water 500 ml", Price: 200, Currency: "CNY"},
		{SKU: "tea", Name: "Green tea", Price: 400, Currency: "CNY"},
		{SKU: "chips", Name: "Potato chips", Price: 650, Currency: "CNY"},
		{SKU: "nuts", Name: "Roasted nuts", Price: 980, Currency: "CNY", UserLimit: 6},
		{SKU: "gum", Name: "Mint gum", Price: 150, Currency: "CNY"},
	}
}

// shelf is what ordinary shoppers choose from.
func shelf() []order.Product { return Products()[2:] }

// freeAddress returns want, or a free port of the same host when want is taken.
func freeAddress(want string) (string, error) {
	l, err := net.Listen("tcp", want)
	if err != nil {
		host, _, splitErr := net.SplitHostPort(want)
		if splitErr != nil {
			return "", splitErr
		}
		if l, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
			return "", err
		}
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// passwords are made anew at every start: broker and agents share the process.
type passwords struct {
	names []string
	byID  map[string]string
}

func newPasswords(n int) passwords {
	p := passwords{byID: map[string]string{}}
	for i := range n {
		c := fmt.Sprintf("C%03d", i+1)
		p.names = append(p.names, c)
		p.byID[c] = rand.Text()
	}
	return p
}

func (p passwords) cabinets() []string { return p.names }

func (p passwords) of(cabinet string) (string, bool) {
	pw, ok := p.byID[cabinet]
	return pw, ok
}
