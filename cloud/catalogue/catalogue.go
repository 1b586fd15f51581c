// Package catalogue answers "what is this SKU at this cabinet, and what does it
// cost there" from memory, for every line of every order. The ledger owns the
// answer; this is a copy of about a second's age that goes on serving while the
// ledger is away.
//
// Files: catalogue.go (the question), errand.go (how the source is read, once
// for all who wait), news.go (what changed: new planograms, slots out of order),
// menu.go (what one cabinet sells, read when it is first asked for).
package catalogue

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

// Source is where products, planograms and slots come from: the ledger.
type Source interface {
	// Products lists the whole catalogue by SKU.
	Products(ctx context.Context) ([]order.Product, error)
	// Planograms returns how the planograms of cabinets stand; a cabinet without
	// one is missing.
	Planograms(ctx context.Context, cabinets ...string) (map[string]planogram.State, error)
	// PlanogramAt returns a cabinet's planogram as of a version, if there is one.
	PlanogramAt(ctx context.Context, cabinet string, version int64) (p wire.Planogram, ok bool, err error)
	// PlanogramChanges tells which cabinets have had a new planogram since number
	// after, and the number up to which this is so. A negative after asks for the
	// number alone.
	PlanogramChanges(ctx context.Context, after int64) (versions map[string]int64, upto int64, err error)
	// SlotFaults lists all slots that are out of order.
	SlotFaults(ctx context.Context) ([]order.SlotFault, error)
}

// Options of a Catalogue; zero values mean the defaults named here.
type Options struct {
	Clock    func() time.Time // nil means time.Now
	Log      *slog.Logger     // nil means silence
	MaxAge   time.Duration    // products older than this are read again behind the callers' backs; 0 means 5 s
	Between  time.Duration    // least time between two reads of the same; 0 means 1 s
	Timeout  time.Duration    // of one read of the source; 0 means 5 s
	Cabinets int              // most cabinets whose planograms are kept; 0 means 16,384
}

// Catalogue implements order.Catalogue. Safe for concurrent use.
//
// Promise: a product that a cabinet sells is answered from memory, without
// waiting and without an allocation, however long the source has been away; the
// first question about a cabinet alone waits, for the read of its planogram. A
// SKU that is not in the copy makes the caller wait for one refresh, shared with
// all who ask meanwhile and begun at most once every Between; only then is it
// unknown. While the source is away such a SKU is an error, since "unknown"
// would be a guess. While Run runs and the source answers, prices and suspensions
// are Between old at most.
type Catalogue struct {
	source   Source
	opt      Options
	born     time.Time
	products *errand
	news     *errand
	copied   atomic.Pointer[listing]
	broken   atomic.Pointer[faults]

	mu     sync.RWMutex
	menus  map[string]*menu
	newest map[string]int64 // versions that were heard of, by cabinet
	loads  map[string]*flight
	upto   int64 // number up to which news were heard; only the news errand touches it

	heardOnce atomic.Bool // there is such a number: a menu read from here on is kept current

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// listing is one copy of the products; it never changes.
type listing struct {
	bySKU map[string]order.Product
}

var _ order.Catalogue = (*Catalogue)(nil)

// New returns an empty Catalogue: the first question fills it. Close ends reads
// that are under way.
func New(source Source, opt Options) *Catalogue {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.MaxAge <= 0 {
		opt.MaxAge = 5 * time.Second
	}
	if opt.Between <= 0 {
		opt.Between = time.Second
	}
	if opt.Timeout <= 0 {
		opt.Timeout = 5 * time.Second
	}
	if opt.Cabinets <= 0 {
		opt.Cabinets = 16 << 10
	}
	c := &Catalogue{source: source, opt: opt, born: opt.Clock(), menus: map[string]*menu{}, newest: map[string]int64{}, loads: map[string]*flight{}, upto: -1}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.products = &errand{c: c, what: "products", read: c.readProducts, every: opt.MaxAge}
	c.news = &errand{c: c, what: "planograms and slots", read: c.readNews, every: opt.Between}
	return c
}

// Run looks for new planograms and slots out of order, and for new prices of the
// chain, until ctx ends: a fleet that nobody asked for a while must not sell its
// first product at an old price.
func (c *Catalogue) Run(ctx context.Context) {
	tick := time.NewTicker(c.opt.Between)
	defer tick.Stop()
	for {
		c.behind(c.age())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Product returns ok false for a SKU that the cabinet does not sell. An error
// means that the source has to be asked and is away: retryable.
func (c *Catalogue) Product(ctx context.Context, cabinet, sku string) (o order.Offer, ok bool, err error) {
	now := c.age()
	if l := c.copied.Load(); l != nil && c.heardOnce.Load() {
		c.behind(now)
		m := c.menuOf(cabinet)
		if m == nil {
			m, err = c.load(ctx, cabinet)
		}
		if err != nil {
			return order.Offer{}, false, fmt.Errorf("catalogue: look into %s: %w", cabinet, err)
		}
		if o, ok := c.offer(l, m, cabinet, sku); ok {
			return o, true, nil
		}
	}
	m, err := c.ask(ctx, cabinet, now)
	if err != nil {
		return order.Offer{}, false, fmt.Errorf("catalogue: look %s up at %s: %w", sku, cabinet, err)
	}
	o, ok = c.offer(c.copied.Load(), m, cabinet, sku)
	return o, ok, nil
}

// ask waits until the copy is as fresh as a miss asks for, and knows the cabinet.
func (c *Catalogue) ask(ctx context.Context, cabinet string, now time.Duration) (*menu, error) {
	if err := c.products.fresh(ctx, now); err != nil {
		return nil, err
	}
	// No menu is read before there is a number from which on news are heard.
	if err := c.news.fresh(ctx, now); err != nil {
		return nil, err
	}
	return c.load(ctx, cabinet)
}

// behind reads again what is due, and lets nobody wait for it.
func (c *Catalogue) behind(now time.Duration) {
	c.news.soon(now)
	c.products.soon(now)
}

// offer is a product as the cabinet sells it.
func (c *Catalogue) offer(l *listing, m *menu, cabinet, sku string) (o order.Offer, ok bool) {
	if o.Product, ok = l.bySKU[sku]; !ok {
		return order.Offer{}, false
	}
	if m.version > 0 {
		s, ok := m.bySKU[sku]
		if !ok {
			return order.Offer{}, false
		}
		o.Price, o.Currency, o.Slots, o.PricedAt = s.price, s.currency, s.slots, m.version
	}
	o.Suspended = c.broken.Load().suspends(cabinet, sku, o.Slots)
	return o, true
}

func (c *Catalogue) readProducts(ctx context.Context) error {
	products, err := c.source.Products(ctx)
	if err != nil {
		return err
	}
	l := &listing{bySKU: make(map[string]order.Product, len(products))}
	for _, p := range products {
		l.bySKU[p.SKU] = p
	}
	c.copied.Store(l)
	return nil
}

// age is the clock as a distance, so that setting the wall clock back does not
// stop refreshes.
func (c *Catalogue) age() time.Duration { return c.opt.Clock().Sub(c.born) }

// Close ends reads that are under way and waits for them. What was copied is
// served on.
func (c *Catalogue) Close() {
	c.mu.Lock() // no load begins between these two
	c.cancel()
	c.mu.Unlock()
	c.products.wait()
	c.news.wait()
	c.work.Wait()
}
