package app

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"

	"vendline/cloud/api"
	"vendline/cloud/batch"
	"vendline/cloud/callback"
	"vendline/cloud/catalogue"
	"vendline/cloud/deduct"
	"vendline/cloud/fence"
	"vendline/cloud/intake"
	"vendline/cloud/intent"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/cloud/payment/sandbox"
	"vendline/cloud/presence"
	"vendline/cloud/queue"
	"vendline/cloud/reconcile"
	"vendline/cloud/relay"
)

// App is one running service.
type App struct {
	Config Config
	Deps   Deps
	Ledger *ledger.Ledger
	Stock  *deduct.Stock // nil in synchronous mode
	Orders *order.Service
	Fence  *fence.Fence
	slow   slow // without Redis; empty in synchronous mode
	gate   *fence.Gate
	watch  *fence.Watch // nil with an embedded Redis
	pass   *fence.Pass  // runs in the reconcile role

	reconciler *reconcile.Reconciler // nil in synchronous mode
	Watcher    *order.Watcher

	Payments *payment.Service
	Sandbox  *sandbox.Server // nil unless it is embedded

	intents   *intent.Runner
	callbacks *callback.Runner // nil without a secret

	alerts alerts

	catalogue *catalogue.Catalogue
	queue     carrier // nil in synchronous mode
	consumer  *batch.Consumer
	stalled   *relay.Stalled // nil unless step 8 runs here
	feeding   sync.RWMutex   // guards runners: those that started first commit rows already
	runners   []*outbox.Runner
	intake    *intake.Intake // nil without MQTT
	wakes     wakes
	presence  *presence.Fleet
	mqttURL   string
	server    *api.Server
	listener  net.Listener
	closers   []func()        // run in reverse
	ctx       context.Context // ends with Close
}

// carrier is a queue with all its faces.
type carrier interface {
	queue.Sender
	queue.Receiver
	queue.Depther
}

// New connects everything and starts what works in the background, in the
// order of the steps below. Close must be called; Serve answers requests.
func New(ctx context.Context, cfg Config, deps Deps) (*App, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("vend-cloud: %w", err)
	}
	a := &App{Config: cfg, Deps: deps, Watcher: order.NewWatcher(), presence: presence.New(presence.Options{})}
	var end context.CancelFunc
	a.ctx, end = context.WithCancel(context.Background())
	a.onClose(end)
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"ledger", a.openLedger},
		{"stock", a.openStock},
		{"orders", a.openOrders},
		{"payments", a.startPayments},
		{"queue", a.openQueue},
		{"outbox runners", a.startRunners},
		{"replaced holds", a.startReplacing},
		{"intents", a.startIntents},
		{"dispensing", a.startDispensing},
		{"planograms", a.startPlanograms},
		{"dead letters", a.startLetters},
		{"consumer", a.startConsumer},
		{"timers", a.startTimers},
		{"orphan sweep", a.startSweep},
		{"reconciliation", a.startReconcile},
		{"audit", a.startAudit},
		{"warm-up", a.startWarmup},
		{"intake", a.startIntake},
		{"alerts", a.startAlerts},
		{"http", a.openHTTP},
	}
	for _, s := range steps {
		if err := s.run(ctx); err != nil {
			a.Close()
			return nil, fmt.Errorf("vend-cloud: start %s: %w", s.name, err)
		}
	}
	return a, nil
}

// Close stops in the reverse order of the start: no new work, then what is
// under way, then the connections. What is not finished is durable and goes on
// at the next start.
func (a *App) Close() {
	for _, c := range slices.Backward(a.closers) {
		c()
	}
	a.closers = nil
}

func (a *App) onClose(f func()) { a.closers = append(a.closers, f) }

// start runs a loop whose stop is part of Close.
func (a *App) start(loop func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(a.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		loop(ctx)
	}()
	a.onClose(func() {
		cancel()
		<-done
	})
}

// feed hands freshly committed rows to this process's own runners. The runners
// are in place before the first order is.
func (a *App) feed(rows []outbox.Row) {
	a.feeding.RLock()
	defer a.feeding.RUnlock()
	for _, row := range rows {
		for _, r := range a.runners {
			if r.Kind == row.Kind {
				r.Feed(row)
			}
		}
	}
}
