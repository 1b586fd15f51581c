package fallback

import (
	"context"
	"errors"
	"sync/atomic"

	"vendline/cloud/order"
)

// Fast is the way through Redis; *order.Fast is one, over a Stock and a Fence
// that are behind the same breaker.
type Fast interface {
	order.Placer
	order.Retrier
}

// Ledger admits orders by the truth alone. Each method takes no stock twice: it
// finds what an id has already, and makes whatever Redis took for it void.
type Ledger interface {
	PlaceFallback(ctx context.Context, o order.Order, limits []order.Item) error
	AdmitFallback(ctx context.Context, o order.Order, limits []order.Item) error
	RetryFallback(ctx context.Context, o order.Order, limits []order.Item) (order.Order, error)
}

// Placer goes through Redis while it is there, and by the ledger while it is
// away. An order whose own try through Redis got no answer may go on by the
// ledger at once: that draws a new token, so that the try does not count.
type Placer struct {
	Orders atomic.Int64 // placed by the ledger alone
	Turned atomic.Int64 // sent away, beyond what it takes

	fast    Fast
	ledger  Ledger
	breaker *Breaker
	bounds  *bounds
}

var _ interface {
	order.Placer
	order.Retrier
} = (*Placer)(nil)

// NewPlacer bounds the slow way to so many orders a second, and so many at once
// at each cabinet; 0 means the defaults.
func NewPlacer(fast Fast, ledger Ledger, breaker *Breaker, perSecond float64, each int) *Placer {
	return &Placer{fast: fast, ledger: ledger, breaker: breaker, bounds: newBounds(perSecond, each)}
}

// Place implements order.Placer.
func (p *Placer) Place(ctx context.Context, o order.Order, items []order.Item) error {
	return p.either(o,
		func() error { return p.fast.Place(ctx, o, items) },
		func() error { return p.ledger.PlaceFallback(ctx, o, items) })
}

// Admit implements order.Placer.
func (p *Placer) Admit(ctx context.Context, o order.Order, items []order.Item) error {
	return p.either(o,
		func() error { return p.fast.Admit(ctx, o, items) },
		func() error { return p.ledger.AdmitFallback(ctx, o, items) })
}

// Retry implements order.Retrier.
func (p *Placer) Retry(ctx context.Context, o order.Order, items []order.Item) (after order.Order, err error) {
	err = p.either(o,
		func() (err error) { after, err = p.fast.Retry(ctx, o, items); return err },
		func() (err error) { after, err = p.ledger.RetryFallback(ctx, o, items); return err })
	return after, err
}

// either goes the fast way, and the slow one when the breaker is open. An order
// that failed before it opened hears that the outcome is unknown, as ever.
func (p *Placer) either(o order.Order, fast, slow func() error) error {
	if !p.breaker.Away() {
		if err := fast(); !errors.Is(err, ErrAway) || !p.breaker.Away() {
			return err
		}
	}
	leave, no := p.bounds.enter(o)
	if no != nil {
		p.Turned.Add(1)
		return no
	}
	defer leave()
	err := slow()
	if err == nil {
		p.Orders.Add(1)
	}
	return err
}
