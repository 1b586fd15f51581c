package fallback

import (
	"context"
	"time"

	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/statement"
)

// Filter is the stock filter with all its faces; *deduct.Stock is one.
type Filter interface {
	order.Stock
	fence.Stock
	effect.Stock
	orphan.Stock
	Sellable(ctx context.Context, cabinet string) (map[string]int64, error)
	SellableMany(ctx context.Context, cabinets []string) (map[string]map[string]int64, error)
}

// Stock is the stock filter behind a breaker: while it is away every call is
// ErrAway at once, so that nobody waits for a timeout, least of all a rebuild
// that holds its cabinet's row.
type Stock struct {
	Filter  Filter
	Breaker *Breaker
}

var _ Filter = (*Stock)(nil)

func through[T any](ctx context.Context, k *Breaker, ask func(ctx context.Context) (T, error)) (v T, err error) {
	err = k.Call(ctx, func(ctx context.Context) error {
		v, err = ask(ctx)
		return err
	})
	return v, err
}

// Deduct implements order.Stock.
func (s *Stock) Deduct(ctx context.Context, b order.Basket) (order.Taken, error) {
	return through(ctx, s.Breaker, func(ctx context.Context) (order.Taken, error) { return s.Filter.Deduct(ctx, b) })
}

// Generation implements fence.Stock.
func (s *Stock) Generation(ctx context.Context, cabinet string) (string, error) {
	return through(ctx, s.Breaker, func(ctx context.Context) (string, error) { return s.Filter.Generation(ctx, cabinet) })
}

// Load implements fence.Stock.
func (s *Stock) Load(ctx context.Context, snap fence.Snapshot) error {
	return s.Breaker.Call(ctx, func(ctx context.Context) error { return s.Filter.Load(ctx, snap) })
}

// Release implements effect.Stock.
func (s *Stock) Release(ctx context.Context, rs []effect.Release) []effect.Result {
	return s.carry(ctx, len(rs), func(ctx context.Context) []effect.Result { return s.Filter.Release(ctx, rs) })
}

// Adjust implements effect.Stock.
func (s *Stock) Adjust(ctx context.Context, as []effect.Adjust) []effect.Result {
	return s.carry(ctx, len(as), func(ctx context.Context) []effect.Result { return s.Filter.Adjust(ctx, as) })
}

// carry counts a pipeline of effects as one call: it fails if the first does.
func (s *Stock) carry(ctx context.Context, n int, run func(ctx context.Context) []effect.Result) []effect.Result {
	if n == 0 {
		return nil
	}
	var results []effect.Result
	err := s.Breaker.Call(ctx, func(ctx context.Context) error {
		results = run(ctx)
		return results[0].Err
	})
	if results == nil {
		results = make([]effect.Result, n)
		for i := range results {
			results[i].Err = err
		}
	}
	return results
}

// Held implements orphan.Stock.
func (s *Stock) Held(ctx context.Context, cabinet string, olderThan time.Duration) ([]orphan.Hold, error) {
	return through(ctx, s.Breaker, func(ctx context.Context) ([]orphan.Hold, error) { return s.Filter.Held(ctx, cabinet, olderThan) })
}

// Settle implements orphan.Stock and batch.Holds.
func (s *Stock) Settle(ctx context.Context, known []statement.Settled) error {
	return s.Breaker.Call(ctx, func(ctx context.Context) error { return s.Filter.Settle(ctx, known) })
}

// Sellable is what can be sold at this instant.
func (s *Stock) Sellable(ctx context.Context, cabinet string) (map[string]int64, error) {
	return through(ctx, s.Breaker, func(ctx context.Context) (map[string]int64, error) { return s.Filter.Sellable(ctx, cabinet) })
}

// SellableMany is Sellable for many cabinets.
func (s *Stock) SellableMany(ctx context.Context, cabinets []string) (map[string]map[string]int64, error) {
	return through(ctx, s.Breaker, func(ctx context.Context) (map[string]map[string]int64, error) {
		return s.Filter.SellableMany(ctx, cabinets)
	})
}
