package order_test

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// fakes are the ports of a placement. Each func, when set, answers instead.
type fakes struct {
	mu       sync.Mutex
	orders   map[string]order.Order
	runs     map[string]order.Run // … and what each was placed under
	products map[string]order.Product
	offers   map[string]order.Offer          // … or, by SKU, what a planogram makes of them
	was      map[int64]map[string]wire.Price // prices by version
	now      time.Time

	deduct func(n int, b order.Basket) (order.Taken, error) // n counts from 1
	place  func(n int, p *order.Placement) error
	move   func(n int, c *order.Change) error
	find   func(id string) (order.Order, error)

	deducts, places, moves int
	rebuilt                []string // cabinets
	drawn                  []string // generations
}

func newFakes() *fakes {
	return &fakes{orders: map[string]order.Order{}, runs: map[string]order.Run{}, now: time.UnixMilli(1_800_000_000_123).UTC(), products: map[string]order.Product{
		"cola":  {SKU: "cola", Price: 250, Currency: "EUR", UserLimit: 3},
		"chips": {SKU: "chips", Price: 300, Currency: "EUR"},
		"sake":  {SKU: "sake", Price: 900, Currency: "JPY"},
	}}
}

func (f *fakes) Deduct(_ context.Context, b order.Basket) (order.Taken, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deducts++
	if f.deduct != nil {
		return f.deduct(f.deducts, b)
	}
	return order.Taken{Run: order.Run{Generation: "g.f", Ticket: int64(f.deducts)}}, nil
}

func (f *fakes) Holds(_ context.Context, user, cabinet string) ([]order.Order, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []order.Order
	for _, o := range f.orders {
		if o.User == user && o.Cabinet == cabinet && o.Status == order.PreReserved {
			out = append(out, o)
		}
	}
	return out, nil
}

func (f *fakes) History(context.Context, string) ([]order.Entry, error) { return nil, nil }

func (f *fakes) Place(_ context.Context, p *order.Placement) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.places++
	if f.place != nil {
		if err := f.place(f.places, p); err != nil {
			return err
		}
	}
	if _, ok := f.orders[p.Order.ID]; ok && f.runs[p.Order.ID] == p.Run {
		return order.ErrExists
	} else if ok {
		return order.ErrSpare
	}
	f.orders[p.Order.ID], f.runs[p.Order.ID] = p.Order, p.Run
	return nil
}

func (f *fakes) Find(_ context.Context, id string) (order.Order, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.find != nil {
		return f.find(id)
	}
	o, ok := f.orders[id]
	if !ok {
		return o, order.ErrUnknown
	}
	return o, nil
}

func (f *fakes) Transition(_ context.Context, c *order.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moves++
	if f.move != nil {
		if err := f.move(f.moves, c); err != nil {
			return err
		}
	}
	o, ok := f.orders[c.ID]
	if !ok {
		return order.ErrUnknown
	}
	to, ok := order.Next(o.Status, c.Event)
	if !ok || !c.NotBefore.IsZero() && c.NotBefore.Before(o.HoldUntil) {
		return &order.StateError{Order: o, Event: c.Event}
	}
	o.Status, o.Version = to, o.Version+1
	f.orders[c.ID], c.After = o, o
	return nil
}

func (f *fakes) Rebuild(_ context.Context, cabinet string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rebuilt = append(f.rebuilt, cabinet)
	return nil
}

func (f *fakes) Draw(_ context.Context, _, generation string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drawn = append(f.drawn, generation)
	return nil
}

func (f *fakes) Product(_ context.Context, _, sku string) (order.Offer, bool, error) {
	if o, ok := f.offers[sku]; ok || f.offers != nil {
		return o, ok, nil
	}
	p, ok := f.products[sku]
	return order.Offer{Product: p}, ok, nil
}

func (f *fakes) PriceAt(_ context.Context, _ string, version int64, sku string) (wire.Price, bool, error) {
	p, ok := f.was[version][sku]
	return p, ok, nil
}

func (f *fakes) fast() *order.Fast { return &order.Fast{Stock: f, Ledger: f, Fence: f} }

func (f *fakes) service() *order.Service {
	return &order.Service{Ledger: f, Catalogue: f, Placer: f.fast(), Watcher: order.NewWatcher(), Clock: func() time.Time { return f.now },
		Hold: 15 * time.Minute, Log: slog.New(slog.DiscardHandler)}
}

const freshID = "01a3185c-5078-7000-8000-000000000001" // minted at the fakes' clock

func (f *fakes) request(lines ...wire.Line) order.Request {
	return order.Request{ID: freshID, Cabinet: "C1", User: "ann", Lines: lines}
}

// placed is a service whose order of one cola stands.
func placed(t *testing.T) (*fakes, *order.Service, order.Order) {
	t.Helper()
	f := newFakes()
	s := f.service()
	o, replay, err := s.Place(t.Context(), f.request(wire.Line{SKU: "cola", Qty: 1}))
	if err != nil || replay {
		t.Fatalf("replay %v, %v", replay, err)
	}
	return f, s, o
}

func (f *fakes) change(id string, do func(*order.Order)) {
	o := f.orders[id]
	do(&o)
	f.orders = maps.Clone(f.orders)
	f.orders[id] = o
}
