package intake_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

var errAway = errors.New("the server is away")

// shop is a Placer, Facts, DeadLetters and Stock in memory.
type shop struct {
	before func(ctx context.Context, id string) error // runs first; its error is returned

	mu     sync.Mutex
	orders map[string]order.Order
	placed map[string]int // attempts by id, replays included
	facts  map[string]wire.Event
	graves []grave
	views  map[string]int
}

type grave struct {
	source, reason string
	payload        []byte
	meta           map[string]string
}

func newShop() *shop {
	return &shop{orders: map[string]order.Order{}, placed: map[string]int{}, facts: map[string]wire.Event{}, views: map[string]int{}}
}

func (s *shop) gate(ctx context.Context, id string) error {
	if s.before == nil {
		return nil
	}
	return s.before(ctx, id)
}

// Place accepts any basket but one with the SKU "none".
func (s *shop) Place(ctx context.Context, r order.Request) (order.Order, bool, error) {
	if err := s.gate(ctx, r.ID); err != nil {
		return order.Order{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placed[r.ID]++
	if o, ok := s.orders[r.ID]; ok {
		return o, true, nil
	}
	o := order.Order{ID: r.ID, Cabinet: r.Cabinet, User: r.User, Status: order.PreReserved, Version: 1, Currency: "CNY", ExpiresAt: clock.Add(5 * time.Minute)}
	for _, l := range r.Lines {
		if l.SKU == "none" {
			return order.Order{}, false, &order.Refusal{Code: wire.CodeStockShort, Detail: "not enough", Short: []wire.Shortage{{SKU: l.SKU, Want: l.Qty}}}
		}
		o.Amount += 350 * int64(l.Qty)
	}
	s.orders[r.ID] = o
	return o, false, nil
}

// Record refuses facts about the SKU "none".
func (s *shop) Record(ctx context.Context, cabinet string, e wire.Event) error {
	if err := s.gate(ctx, e.ID); err != nil {
		return err
	}
	if e.Fact.Lines[0].SKU == "none" {
		return &order.Refusal{Code: wire.CodeSKUUnknown, Detail: "no such product"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.facts[e.ID] = e
	return nil
}

func (s *shop) Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error {
	if err := s.gate(ctx, "bury"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.graves = append(s.graves, grave{source, reason, payload, meta})
	return nil
}

func (s *shop) View(_ context.Context, cabinet string) ([]wire.StockLine, *wire.Counted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[cabinet]++
	return []wire.StockLine{{SKU: "cola", Name: "Cola", Sellable: 12, Price: 350, Currency: "CNY"}}, nil, nil
}

func (s *shop) buried() []grave {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]grave(nil), s.graves...)
}

func (s *shop) ordered(id string) (o order.Order, attempts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[id], s.placed[id]
}

// id is a valid event id made of two numbers.
func id(a, b int) string { return fmt.Sprintf("01900000-0000-7000-%04x-%012x", a, b) }

// clock is what the cloud's clock shows, always.
var clock = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
