package app

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"vendline/cloud/batch"
	"vendline/cloud/catalogue"
	"vendline/cloud/deduct"
	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/outbox"
	"vendline/cloud/queue/bolt"
	"vendline/cloud/queue/rocket"
	"vendline/cloud/relay"
	"vendline/cloud/replace"
	"vendline/cloud/timers"
)

func (a *App) openLedger(ctx context.Context) error {
	kind, rest := scheme(a.Config.Ledger)
	dialect := ledger.MySQL()
	switch kind {
	case "mysql":
	case "sqlite":
		dialect = ledger.SQLite()
	default:
		return fmt.Errorf("%q is neither mysql:<dsn> nor sqlite:<path>", a.Config.Ledger)
	}
	l, err := ledger.Open(ctx, dialect, rest, ledger.Options{
		Clock: a.Deps.Clock, ID: a.Deps.ID, Token: a.Deps.Token, Log: a.Deps.Log,
		Shards: a.Config.Shards, Hold: a.Config.Hold, Holds: a.Config.Holds, Direct: a.Config.Mode == ModeSync,
		Feed: a.feed, Changed: a.Watcher.Publish,
	})
	if err != nil {
		return err
	}
	a.Ledger = l
	a.onClose(l.Close)
	return nil
}

func (a *App) openStock(ctx context.Context) error {
	if a.Config.Mode == ModeSync {
		return nil
	}
	deduct.LogTo(a.Deps.Log)
	var rdb redis.UniversalClient
	var err error
	embedded := a.Config.Stock == "embedded"
	if embedded {
		// It forgets on exit, as Redis may: the first touch rebuilds it.
		mini := miniredis.NewMiniRedis()
		if err := mini.Start(); err != nil {
			return err
		}
		a.onClose(mini.Close)
		rdb, err = deduct.Open(ctx, "redis://"+mini.Addr(), deduct.Servers{})
	} else {
		rdb, err = deduct.Client(a.Config.Stock, deduct.Servers{Gate: a.openGate()})
	}
	if err != nil {
		return err
	}
	a.onClose(func() { _ = rdb.Close() })
	a.checkEviction(ctx, rdb)
	a.Stock = deduct.New(rdb, deduct.Options{Now: a.Deps.Clock, InFlight: 1})
	a.onClose(a.Stock.Close)
	a.openFallback(ctx)
	a.Fence = &fence.Fence{Ledger: a.Ledger, Stock: a.slow.stock, Log: a.Deps.Log}
	a.startFence(embedded)
	return nil
}

// checkEviction warns of a Redis that may drop markers to make room. A server
// that does not answer the question is not asked again.
func (a *App) checkEviction(ctx context.Context, rdb redis.UniversalClient) {
	got, err := rdb.ConfigGet(ctx, "maxmemory-policy").Result()
	if policy := got["maxmemory-policy"]; err == nil && policy != "" && policy != "noeviction" {
		a.Deps.Log.Warn("Redis may evict markers and stock; set maxmemory-policy to noeviction", "policy", policy)
	}
}

func (a *App) openOrders(context.Context) error {
	a.catalogue = catalogue.New(a.Ledger, catalogue.Options{Clock: a.Deps.Clock, Log: a.Deps.Log})
	a.onClose(a.catalogue.Close)
	a.start(a.catalogue.Run)
	a.Orders = &order.Service{
		Ledger: a.Ledger, Catalogue: a.catalogue, Watcher: a.Watcher,
		Clock: a.Deps.Clock, Hold: a.Config.Hold, Log: a.Deps.Log,
	}
	if a.Config.Mode == ModeSync {
		a.Orders.Placer = &order.Sync{Ledger: a.Ledger}
	} else {
		a.Orders.Placer = a.openPlacer()
	}
	return nil
}

// startReplacing gives back holds that their shopper's next order replaced.
func (a *App) startReplacing(context.Context) error {
	r := &replace.Runner{Orders: a.Orders, Ledger: a.Ledger}
	a.carry(&outbox.Runner{Kind: outbox.KindReplace, Carry: r.Carry, Lease: ledger.QuickLease, Workers: 2, Batch: 16})
	return nil
}

func (a *App) openQueue(ctx context.Context) error {
	if a.Config.Mode == ModeSync {
		return nil
	}
	switch kind, rest := scheme(a.Config.Queue); kind {
	case "bolt":
		q, err := bolt.Open(rest, bolt.Options{Now: a.Deps.Clock, Log: a.Deps.Log})
		if err != nil {
			return err
		}
		a.queue = q
		a.onClose(func() { _ = q.Close() })
	case "rocketmq":
		q, err := rocket.Open(ctx, "http://"+rest, rocket.Options{
			Instance: a.Config.Instance, Queues: a.Config.Shards, Log: a.Deps.Log,
			Topics: []string{a.Config.topics().Stock, a.Config.topics().Timer},
		})
		if err != nil {
			return err
		}
		a.queue = q
		a.onClose(func() { _ = q.Close() })
	default:
		return fmt.Errorf("%q is neither rocketmq://host:port nor bolt:<path>", a.Config.Queue)
	}
	return nil
}

// Rows that wait a little travel together: fewer messages at the broker, larger
// batches in step 8. Nobody waits for either; Redis effects never linger.
const (
	stockLinger = 60 * time.Millisecond
	timerLinger = 250 * time.Millisecond
)

// startRunners carries out the rows that move stock: those this process writes
// at once and from memory, in the relay's role also those that others left behind.
func (a *App) startRunners(context.Context) error {
	if a.Config.Mode == ModeSync {
		return nil
	}
	re := &relay.Relay{Sender: a.queue, Store: a.Ledger, Topics: a.Config.topics()}
	ef := &effect.Runner{Stock: a.slow.stock, Ledger: a.Ledger, Fence: a.Fence}
	a.carry(&outbox.Runner{Kind: outbox.KindStock, Carry: re.Stock, Lease: ledger.StockLease, Linger: stockLinger})
	a.carry(&outbox.Runner{Kind: outbox.KindTimer, Carry: re.Timer, Lease: ledger.QuickLease, Linger: timerLinger})
	workers := 2
	if kind, _ := scheme(a.Config.Stock); kind == "redis-cluster" {
		workers = 16 // one that waits for a master that hangs keeps none from the others
	}
	a.carry(&outbox.Runner{Kind: outbox.KindRedis, Carry: ef.Carry, Lease: ledger.QuickLease, Workers: workers, Batch: 16, Rest: a.away})
	return nil
}

// carry starts a runner over this process's ledger.
func (a *App) carry(r *outbox.Runner) {
	r.Store, r.Log = a.Ledger, a.Deps.Log
	if a.Config.has(RoleRelay) {
		r.Poll = time.Second
	}
	a.feeding.Lock()
	a.runners = append(a.runners, r)
	a.feeding.Unlock()
	a.start(r.Run)
}

func (a *App) startConsumer(context.Context) error {
	if a.Config.Mode == ModeSync || !a.Config.has(RoleConsumer) {
		return nil
	}
	a.consumer = batch.New(a.Ledger, a.slow.stock, batch.Options{Shards: a.Config.Shards, Log: a.Deps.Log})
	a.onClose(a.consumer.Close)
	return a.receive(a.Config.topics().Stock, a.consumer.Handle)
}

func (a *App) startTimers(context.Context) error {
	if !a.Config.has(RoleTimers) {
		return nil
	}
	t := &timers.Timers{Orders: a.Orders, Ledger: a.Ledger, Clock: a.Deps.Clock, Log: a.Deps.Log}
	a.start(t.Run)
	if a.Config.Mode == ModeSync {
		return nil
	}
	return a.receive(a.Config.topics().Timer, t.Handle)
}

func (a *App) startSweep(context.Context) error {
	if a.Config.Mode == ModeSync || !a.Config.has(RoleReconcile) {
		return nil
	}
	s := &orphan.Sweeper{Stock: a.slow.stock, Ledger: a.Ledger, Fence: a.Fence, Grace: a.Config.Grace, Waiting: a.Stock.Waiting, Rest: a.away, Log: a.Deps.Log}
	a.start(s.Run)
	return nil
}
