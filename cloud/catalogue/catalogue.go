// Package catalogue answers "what is this SKU and what does it cost" from
// memory, for every line of every order. The ledger owns the answer; this is a
// copy of a few seconds' age that goes on serving while the ledger is away.
package catalogue

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"vendline/cloud/order"
)

// Source is where products come from: the ledger.
type Source interface {
	// Products lists the whole catalogue by SKU.
	Products(ctx context.Context) ([]order.Product, error)
}

// Options of a Catalogue; zero values mean the defaults named here.
type Options struct {
	Clock   func() time.Time // nil means time.Now
	Log     *slog.Logger     // nil means silence
	MaxAge  time.Duration    // a copy older than this is refreshed behind the callers' backs; 0 means 5 s
	Between time.Duration    // least time between two reads of the source; 0 means 1 s
	Timeout time.Duration    // of one read of the source; 0 means 5 s
}

// Catalogue implements order.Catalogue. Safe for concurrent use.
//
// Promise: a listed SKU is answered from memory, without waiting and without an
// allocation, however long the source has been away. A SKU that is not in the
// copy makes the caller wait for one refresh, shared with all who ask meanwhile
// and begun at most once every Between; only then is it unknown. While the
// source is away such a SKU is an error, since "unknown" would be a guess.
type Catalogue struct {
	source Source
	opt    Options
	born   time.Time
	copied atomic.Pointer[listing]
	due    atomic.Int64 // when the copy is to be refreshed, in ns since born

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	mu     sync.Mutex
	flight *flight
	tried  time.Duration // when the last flight began, since born
	failed error         // how the last flight ended
}

// listing is one copy of the source; it never changes.
type listing struct {
	bySKU map[string]order.Product
}

var _ order.Catalogue = (*Catalogue)(nil)

// New returns an empty Catalogue: the first question fills it. Close ends a
// refresh that is under way.
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
	c := &Catalogue{source: source, opt: opt, born: opt.Clock()}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Product returns ok false for a SKU that was never listed. An error means that
// the source has to be asked and is away: retryable.
func (c *Catalogue) Product(ctx context.Context, sku string) (p order.Product, ok bool, err error) {
	now := c.age()
	if l := c.copied.Load(); l != nil {
		if due := c.due.Load(); int64(now) >= due && c.due.CompareAndSwap(due, int64(now+c.opt.Between)) {
			c.refresh(now) // nobody waits for it
		}
		if p, ok := l.bySKU[sku]; ok {
			return p, true, nil
		}
	}
	if err := c.fresh(ctx, now); err != nil {
		return order.Product{}, false, fmt.Errorf("catalogue: look %s up: %w", sku, err)
	}
	if l := c.copied.Load(); l != nil {
		p, ok = l.bySKU[sku]
	}
	return p, ok, nil
}

// age is the clock as a distance, so that setting the wall clock back does not
// stop refreshes.
func (c *Catalogue) age() time.Duration { return c.opt.Clock().Sub(c.born) }

// Close ends a refresh that is under way and waits for it. What was copied is
// served on.
func (c *Catalogue) Close() {
	c.cancel()
	c.mu.Lock()
	f := c.flight
	c.mu.Unlock()
	if f != nil {
		<-f.done
	}
}
