package bench

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"time"

	"github.com/go-sql-driver/mysql"

	"vendline/cloud/app"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/deploy/launch"
	"vendline/deploy/stack"
)

// Config of a run.
type Config struct {
	Dir      string // data of the servers
	Binaries launch.Binaries
	NoEdge   bool          // leave the agent out
	NoLife   bool          // leave the ends of orders out: expiry, reconcile, callbacks
	Each     time.Duration // length of a measurement
	Rates    []float64     // open loop, orders a second offered
	Modes    []string      // sync, async
	Fleets   []int         // numbers of cabinets
	Out      io.Writer     // progress
}

// Conns is the number of connections of the closed loop.
const Conns = 128

// skus of every bench cabinet: 20 stock rows, as in the field.
func skus() []string {
	out := make([]string, 20)
	for i := range out {
		out[i] = fmt.Sprintf("sku-%02d", i)
	}
	return out
}

// Run starts the servers, measures every scenario, and stops what it started.
func Run(ctx context.Context, cfg Config) (Report, error) {
	s, err := stack.Start(ctx, stack.Options{Dir: cfg.Dir, Log: cfg.Out, Cabinets: []string{edgeCabinet}}.All())
	if err != nil {
		return Report{}, fmt.Errorf("bench: %w", err)
	}
	defer func() { _ = s.Stop() }()
	d, err := s.Description()
	if err != nil {
		return Report{}, fmt.Errorf("bench: %w", err)
	}
	r := Report{At: time.Now(), Machine: machine(ctx, d)}
	for _, cabinets := range cfg.Fleets {
		for _, mode := range cfg.Modes {
			b := &scenario{cfg: cfg, stack: s, desc: d, out: Scenario{Mode: mode, Cabinets: cabinets}}
			fmt.Fprintf(cfg.Out, "\n%s\n", b.out.title())
			if err := b.run(ctx); err != nil {
				return r, fmt.Errorf("bench: %s: %w", b.out.title(), err)
			}
			r.Scenarios = append(r.Scenarios, b.out)
		}
	}
	if !cfg.NoLife {
		fmt.Fprintf(cfg.Out, "\n%d holds end in the same second\n", expiryHolds)
		if r.Expiry, err = expiry(ctx, cfg, s, d); err != nil {
			return r, fmt.Errorf("bench: expiry: %w", err)
		}
		fmt.Fprintln(cfg.Out, r.Expiry)
		fmt.Fprintf(cfg.Out, "\n%d cabinets reconciled\n", reconcileCabinets)
		if r.Reconcile, err = reconcile(ctx, cfg, s, d); err != nil {
			return r, fmt.Errorf("bench: reconcile: %w", err)
		}
		fmt.Fprintln(cfg.Out, r.Reconcile)
		fmt.Fprintf(cfg.Out, "\n%d payment callbacks a second for %s\n", callbackRate, callbackFor)
		if r.Callbacks, err = callbacks(ctx, cfg, s, d); err != nil {
			return r, fmt.Errorf("bench: callbacks: %w", err)
		}
	}
	if !cfg.NoEdge {
		fmt.Fprintf(cfg.Out, "\nedge\n")
		if r.Edge, err = edgeReport(ctx, cfg, d); err != nil {
			return r, fmt.Errorf("bench: edge: %w", err)
		}
	}
	return r, nil
}

// scenario is one mode with so many cabinets.
type scenario struct {
	cfg   Config
	stack *stack.Stack
	desc  *stack.Description
	db    *sql.DB
	dsn   string
	addr  string
	cloud *stack.Server
	name  string // of its database and process, if it needs one of its own
	out   Scenario
}

func (b *scenario) run(ctx context.Context) error {
	if err := b.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	defer b.db.Close()
	if err := b.start(ctx); err != nil {
		return fmt.Errorf("start vend-cloud: %w", err)
	}
	defer func() { _ = b.cloud.Stop() }()
	t := target{addr: b.addr, cabinets: b.names(), skus: skus()}
	accepted := closed(ctx, t, Conns, 3*time.Second).Accepted // caches, plans, and first touch
	if _, err := b.drained(ctx); err != nil {
		return err
	}
	before, err := b.counters(ctx)
	if err != nil {
		return err
	}
	lag := b.watchLag(ctx)
	b.out.Closed = closed(ctx, t, Conns, b.cfg.Each)
	end := time.Now()
	after, err := b.counters(ctx)
	if err != nil {
		return err
	}
	if b.out.Server.DrainedMS, err = b.drained(ctx); err != nil {
		return err
	}
	b.out.Server.LagPeakMS, b.out.Server.LagDrainMS = lag(end)
	b.compare(before, after)
	accepted += b.out.Closed.Accepted
	b.say(b.out.Closed)
	for _, rate := range b.cfg.Rates {
		l := open(ctx, t, rate, 4*Conns, b.cfg.Each)
		b.out.Open = append(b.out.Open, l)
		accepted += l.Accepted
		b.say(l)
		if _, err := b.drained(ctx); err != nil {
			return err
		}
		if l.AcceptedPerSecond < 0.9*rate {
			break // saturated: higher rates only measure the queue
		}
	}
	return b.verify(ctx, accepted)
}

func (b *scenario) say(l Load) {
	fmt.Fprintf(b.cfg.Out, "  offered %6.0f/s  accepted %6.0f/s  p50 %6.1f  p95 %6.1f  p99 %6.1f ms  errors %d %s\n",
		l.OfferedPerSecond, l.AcceptedPerSecond, l.P50ms, l.P95ms, l.P99ms, l.Errors, l.FirstError)
}

// verify counts the orders in MySQL: every accepted one must be there, and no
// more than those whose answer was an error besides.
func (b *scenario) verify(ctx context.Context, accepted int64) error {
	err := b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM trade_order").Scan(&b.out.Durable)
	if err != nil {
		return fmt.Errorf("count orders: %w", err)
	}
	unknown := b.out.Closed.Errors
	for _, o := range b.out.Open {
		unknown += o.Errors
	}
	if b.out.Durable < accepted || b.out.Durable > accepted+unknown {
		return fmt.Errorf("%d orders were accepted (and %d are unknown), but MySQL has %d", accepted, unknown, b.out.Durable)
	}
	return nil
}

func (b *scenario) names() []string {
	out := make([]string, b.out.Cabinets)
	for i := range out {
		out[i] = fmt.Sprintf("B%03d", i+1)
	}
	return out
}

// prepare makes a fresh database with products, cabinets and ample stock.
func (b *scenario) prepare(ctx context.Context) error {
	conf, err := mysql.ParseDSN(b.desc.MySQLDSN)
	if err != nil {
		return err
	}
	admin, err := sql.Open("mysql", b.desc.MySQLDSN)
	if err != nil {
		return err
	}
	defer admin.Close()
	conf.DBName = fmt.Sprintf("vendline_bench_%s%s_%d", b.name, b.out.Mode, b.out.Cabinets)
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+conf.DBName); err != nil {
		return err
	}
	b.dsn = conf.FormatDSN()
	l, err := ledger.Open(ctx, ledger.MySQL(), b.dsn, ledger.Options{
		Clock: time.Now, ID: app.NewID, Token: app.NewToken,
	})
	if err != nil {
		return err
	}
	defer l.Close()
	var products []order.Product
	opening := map[string]int64{}
	for i, sku := range skus() {
		products = append(products, order.Product{SKU: sku, Name: sku, Price: int64(100 + 10*i), Currency: "CNY"})
		opening[sku] = 1_000_000_000
	}
	if err := l.AddProducts(ctx, products...); err != nil {
		return err
	}
	for _, c := range b.names() {
		if err := l.AddCabinet(ctx, c, opening); err != nil {
			return err
		}
	}
	b.db, err = sql.Open("mysql", b.dsn)
	return err
}

func (b *scenario) start(ctx context.Context, flags ...string) (err error) {
	name := fmt.Sprintf("vend-cloud-%s%s-%d", b.name, b.out.Mode, b.out.Cabinets)
	b.cloud, err = launch.Cloud(ctx, b.stack, b.cfg.Binaries, launch.CloudOptions{
		Name: name, DSN: b.dsn, Extra: append([]string{"--mode", b.out.Mode, "--namespace", name, "--hold", "24h"}, flags...),
	})
	if err == nil {
		b.addr = b.cloud.Addr()
	}
	return err
}
