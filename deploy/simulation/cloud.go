package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/app"
	"vendline/cloud/batch"
	"vendline/cloud/deduct"
	"vendline/cloud/dispense"
	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/intake"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/cloud/reconcile"
	"vendline/cloud/relay"
	"vendline/cloud/timers"
	"vendline/shared/wire"
)

// cloud is one incarnation of a cloud process: the real code, wired as the
// service wires it, with a gate at each durable step.
type cloud struct {
	w      *world
	name   string
	dead   bool
	books  *ledger.Ledger
	stock  *deduct.Stock
	client redis.UniversalClient
	gated  *fence.Gate
	ports  ledgerPort

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
	intake   intake.Local
	carriers map[outbox.Kind]outbox.Carrier

	consuming bool          // a delivery of the stock topic is under way
	settles   int           // deliveries of holds to Redis that are to come
	knock     chan struct{} // one of them has come
	enter     chan struct{} // … and may go on
	left      chan struct{} // … and is over
}

// start starts a process over the world's stores.
func (w *world) start(name string) (*cloud, error) {
	p := &cloud{w: w, name: name, knock: make(chan struct{}), enter: make(chan struct{}), left: make(chan struct{})}
	var err error
	p.books, err = ledger.Open(w.ctx, w.opt.Bug.dialect(), w.file, ledger.Options{Clock: w.Now, ID: w.id, Token: w.token, Hold: hold, Shards: 1})
	if err != nil {
		return nil, err
	}
	if p.client, err = deduct.Open(w.ctx, "redis://"+w.redis.Addr(), deduct.Servers{Pool: 2}); err != nil {
		return nil, err
	}
	p.stock = deduct.New(p.client, deduct.Options{Now: w.Now, Token: w.token, Scripts: w.opt.Bug.scripts(), InFlight: 1})
	p.gated = &fence.Gate{Ledger: p.books}
	log := slog.New(slog.DiscardHandler)
	l, r, q := ledgerPort{p, p.books}, stockPort{p, p.stock}, senderPort{p}
	p.ports = l
	p.fence = &fence.Fence{Ledger: l, Stock: r, Log: log}
	p.fast = &order.Fast{Stock: r, Ledger: l, Fence: p.fence}
	p.orders = &order.Service{Ledger: l, Catalogue: catalogue{}, Placer: placer{p}, Watcher: order.NewWatcher(), Clock: w.Now, Hold: hold, Log: log}
	p.money = &payment.Service{Ledger: l, Stock: p.orders, PublicURL: "https://vend.example", Clock: w.Now, Log: log,
		Providers: map[string]payment.Provider{"till": tillPort{w.till, p}}}
	p.orders.Charges, p.orders.Sessions = p.money, l
	p.vending = dispense.New(dispense.Options{Ledger: l, Publisher: wakePort{p}, Clock: w.Now})
	p.relay = &relay.Relay{Sender: q, Store: l, Topics: relay.DefaultTopics()}
	p.consumer = batch.New(l, holdsPort{p, r}, batch.Options{Shards: 1, Linger: time.Nanosecond, Log: log})
	p.effects = &effect.Runner{Stock: r, Ledger: l, Fence: p.fence}
	p.timers = &timers.Timers{Orders: oneByOne{p.orders}, Ledger: l, Clock: w.Now, Log: log}
	p.sweeper = &orphan.Sweeper{Stock: r, Ledger: l, Fence: p.fence, Grace: grace, Log: log}
	p.auditor = &reconcile.Reconciler{Stock: comparePort{r}, Ledger: bookPort{l}, Rebuild: p.fence.Rebuild, ID: w.id, Token: w.token, Clock: w.Now, Log: log, Rest: -1, Parallel: 1}
	p.intake, err = intake.NewLocal(intake.Options{Placer: p.orders, Facts: factPort{p, app.NewFacts(p.books)}, DeadLetters: l, Commands: l, Now: w.Now, Jitter: func() float64 { return 0.5 }, Log: log},
		func(topic string, payload []byte) bool { return w.sendDown(p, topic, payload) })
	if err != nil {
		return nil, err
	}
	p.carriers = map[outbox.Kind]outbox.Carrier{outbox.KindStock: p.relay.Stock, outbox.KindTimer: p.relay.Timer, outbox.KindRedis: p.effects.Carry, outbox.KindCommand: p.vending.Carry,
		outbox.KindNotice: p.money.CarryNotices, outbox.KindCheck: p.money.CarryChecks, outbox.KindLate: p.money.CarryLate, outbox.KindRefund: p.money.CarryRefunds}
	return p, nil
}

// kinds are the outbox rows that are carried here, as they lead to one another.
func kinds() []outbox.Kind {
	return []outbox.Kind{outbox.KindStock, outbox.KindTimer, outbox.KindRedis, outbox.KindNotice, outbox.KindCheck, outbox.KindLate, outbox.KindRefund, outbox.KindCommand}
}

// end closes what a dead process had open. Nothing durable happens any more.
func (p *cloud) end() {
	p.dead = true
	p.consumer.Close()
	p.stock.Close()
	_ = p.client.Close()
	p.intake.Close()
	p.books.Close()
}

// carry claims a few rows of a kind whose lease is over, and carries them.
func (p *cloud) carry(kind outbox.Kind, n int) {
	run := p.carriers[kind]
	switch kind {
	case outbox.KindNotice, outbox.KindCheck, outbox.KindLate, outbox.KindRefund:
		n = 1 // many would be carried at the same time
	}
	rows, err := p.ports.Claim(p.w.ctx, kind, n, func(int) time.Duration { return ledger.QuickLease })
	if err == nil && len(rows) > 0 {
		err = run(p.w.ctx, rows)
		p.w.trace(p.name, fmt.Sprintf("carried %d %s", len(rows), kind), said(err))
	}
}

// consume takes a delivery of the stock topic to its ack, and Redis hears of it.
func (p *cloud) consume(n int) {
	w := p.w
	msgs := w.queue.take(relay.DefaultTopics().Stock, w.Now(), n)
	if len(msgs) == 0 || p.consuming {
		return
	}
	p.consuming, p.settles = true, 0
	defer func() { p.consuming = false }()
	if w.opt.Bug == AckBeforeCommit {
		w.queue.ack(msgs)
	}
	err := p.consumer.Handle(w.ctx, msgs)
	p.ack(msgs, err)
	for range p.settles { // they come on a goroutine of their own, at their own time
		<-p.knock
		p.enter <- struct{}{}
		<-p.left
	}
}

// remind takes a delivery of the timer topic.
func (p *cloud) remind(n int) {
	msgs := p.w.queue.take(relay.DefaultTopics().Timer, p.w.Now(), n)
	if len(msgs) > 0 {
		p.ack(msgs, p.timers.Handle(p.w.ctx, msgs))
	}
}

// compare reconciles all cabinets; what differs while Redis lost nothing is a lie.
func (p *cloud) compare(frozen bool) {
	p.auditor.Tries = 0
	if frozen {
		p.auditor.Tries = -1
	}
	before := p.w.lossy
	_, err := p.auditor.Round(p.w.ctx, cabinetIDs(), false, func(o reconcile.Outcome) {
		if o.Finding != nil {
			if !before && !p.w.lossy {
				p.w.say("reconcile finds %+v at %s though Redis lost nothing", o.Finding.Lines, o.Finding.Cabinet)
			}
			p.w.trace(p.name, "reconcile", fmt.Sprintf("differs: %+v", o.Finding.Lines))
		}
	})
	p.w.trace(p.name, fmt.Sprintf("reconciled, frozen %v", frozen), said(err))
}

// grant tells a cabinet what it may sell on its own: a quarter of what there is.
func (p *cloud) grant(cabinet string) {
	sellable, counted, err := p.books.SellableCounting(p.w.ctx, cabinet)
	if err != nil || p.dead {
		return
	}
	c := wire.Command{V: wire.Version, Cabinet: cabinet, Kind: wire.CommandStock, Counted: &counted}
	for _, product := range products() {
		n := max(sellable[product.SKU], 0)
		c.Stock = append(c.Stock, wire.StockLine{SKU: product.SKU, Name: product.Name, Sellable: n, Price: product.Price, Currency: product.Currency, Allowance: (n + 3) / 4})
	}
	p.w.sendDown(p, wire.Topic(cabinet, wire.ChannelCommand), wire.Encode(c))
}

// oneByOne ends holds one after the other: together they would share commits in
// an order that is not the seed's.
type oneByOne struct{ orders *order.Service }

func (o oneByOne) Expire(ctx context.Context, ids []string) (n int, err error) {
	for _, id := range ids {
		some, failed := o.orders.Expire(ctx, []string{id})
		n += some
		if failed != nil {
			err = failed
		}
	}
	return n, err
}

// placer goes through Redis, and by the ledger while Redis is away. The service
// has a breaker there; when it opens is the seed's.
type placer struct{ p *cloud }

func (f placer) Place(ctx context.Context, o order.Order, items []order.Item) error {
	if f.p.w.away {
		return f.p.ports.PlaceFallback(ctx, o, items)
	}
	return f.p.fast.Place(ctx, o, items)
}

func (f placer) Admit(ctx context.Context, o order.Order, items []order.Item) error {
	return f.p.fast.Admit(ctx, o, items)
}

func (f placer) Retry(ctx context.Context, o order.Order, items []order.Item) (order.Order, error) {
	if f.p.w.away {
		return f.p.ports.RetryFallback(ctx, o, items)
	}
	return f.p.fast.Retry(ctx, o, items)
}

// catalogue is what is sold here.
type catalogue struct{}

func (catalogue) Product(_ context.Context, _, sku string) (order.Offer, bool, error) {
	for _, p := range products() {
		if p.SKU == sku {
			return order.Offer{Product: p}, true, nil
		}
	}
	return order.Offer{}, false, nil
}

func (catalogue) PriceAt(context.Context, string, int64, string) (wire.Price, bool, error) {
	return wire.Price{}, false, nil
}
