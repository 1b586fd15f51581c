package pathtest

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/batch"
	"vendline/cloud/deduct"
	"vendline/cloud/dispense"
	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/payment"
	"vendline/cloud/reconcile"
	"vendline/cloud/relay"
	"vendline/cloud/timers"
)

// hold is how long an unpaid order keeps its stock.
const hold = 15 * time.Minute

// errKilled is what a dead process hears of everything it goes on to ask.
var errKilled = errors.New("this process was killed")

// process is one incarnation of the cloud service over a site: the real code,
// wired as the service wires it, with a gate at each durable step.
type process struct {
	*site
	books  *ledger.Ledger
	stock  *deduct.Stock
	client redis.UniversalClient

	orders   *order.Service
	fast     *order.Fast
	fence    *fence.Fence
	relay    *relay.Relay
	consumer *batch.Consumer
	effects  *effect.Runner
	timers   *timers.Timers
	sweeper  *orphan.Sweeper
	auditor  *reconcile.Reconciler
	money    *payment.Service
	vending  *dispense.Runner
	ports    ledgerPort

	mu   sync.Mutex
	dead bool
	hits map[string]int
	doom func(point string, hit int) bool // kills at a gate; nil never does

	meanwhile func(point string) // what others do between two steps; may be nil
}

// start starts a process over the site's stores.
func (s *site) start(doom func(point string, hit int) bool) *process {
	s.t.Helper()
	p := &process{site: s, hits: map[string]int{}, doom: doom}
	var err error
	p.books, err = ledger.Open(s.ctx, ledger.SQLite(), s.file, ledger.Options{Clock: s.Now, ID: s.id, Token: s.token, Hold: hold})
	s.ok(err)
	p.client, err = deduct.Open(s.ctx, "redis://"+s.redis.Addr(), deduct.Servers{Pool: 4})
	s.ok(err)
	p.stock = deduct.New(p.client, deduct.Options{Now: s.Now, Token: s.token, Scripts: s.faults.scripts})
	log := slog.New(slog.DiscardHandler)
	l, r, q := ledgerPort{p, p.books}, stockPort{p, p.stock}, senderPort{p, s.queue}
	p.ports = l
	p.fence = &fence.Fence{Ledger: l, Stock: r, Log: log}
	p.fast = &order.Fast{Stock: r, Ledger: l, Fence: p.fence}
	p.orders = &order.Service{Ledger: l, Catalogue: products{}, Placer: p.fast, Watcher: order.NewWatcher(), Clock: s.Now, Hold: hold, Log: log}
	p.money = &payment.Service{Ledger: l, Stock: p.orders, PublicURL: "https://vend.example", Clock: s.Now, Log: log, Providers: map[string]payment.Provider{
		"till": tillPort{p, s.tills["till"]}, "kiosk": tillPort{p, s.tills["kiosk"]}}}
	p.orders.Charges, p.orders.Sessions = p.money, l
	p.vending = dispense.New(dispense.Options{Ledger: l, Publisher: wakePort{p}, Clock: s.Now})
	p.relay = &relay.Relay{Sender: q, Store: l, Topics: relay.DefaultTopics()}
	p.consumer = batch.New(l, r, batch.Options{Linger: time.Nanosecond, Log: log})
	p.effects = &effect.Runner{Stock: r, Ledger: l, Fence: p.fence}
	p.timers = &timers.Timers{Orders: p.orders, Ledger: l, Clock: s.Now, Log: log}
	p.auditor = &reconcile.Reconciler{Stock: comparePort{r}, Ledger: bookPort{l}, Rebuild: p.fence.Rebuild, ID: s.id, Token: s.token, Clock: s.Now, Log: log, Rest: -1, Parallel: 1}
	p.sweeper = &orphan.Sweeper{Stock: r, Ledger: l, Fence: p.fence, Log: log}
	return p
}

// end closes what a dead process had open. Nothing durable happens any more.
func (p *process) end() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.consumer.Close()
	p.stock.Close()
	_ = p.client.Close()
	p.books.Close()
}

func (p *process) killed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// gate is a point where the process may die.
func (p *process) gate(point string) error {
	if p.meanwhile != nil && !p.killed() {
		p.meanwhile(point)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errKilled
	}
	p.hits[point]++
	if p.doom != nil && p.doom(point, p.hits[point]) {
		p.dead = true
		return errKilled
	}
	return nil
}

// through does a durable step between two gates.
func through[T any](p *process, step string, do func() (T, error)) (T, error) {
	var none T
	if err := p.gate("before " + step); err != nil {
		return none, err
	}
	v, err := do()
	if dead := p.gate("after " + step); dead != nil {
		return none, dead
	}
	return v, err
}

func pass(p *process, step string, do func() error) error {
	_, err := through(p, step, func() (struct{}, error) { return struct{}{}, do() })
	return err
}
