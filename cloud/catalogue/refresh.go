package catalogue

import (
	"context"
	"time"

	"vendline/cloud/order"
)

// flight is one read of the source, shared by all who wait for it.
type flight struct {
	done chan struct{} // closed when err is set
	err  error
}

// fresh waits until the copy is at most Between old, or says why it is not.
func (c *Catalogue) fresh(ctx context.Context, now time.Duration) error {
	f, last := c.refresh(now)
	if f == nil {
		return last
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refresh joins the read that is under way, or begins one. It returns no flight
// when the last one began less than Between ago: then its outcome stands.
func (c *Catalogue) refresh(now time.Duration) (f *flight, last error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight != nil {
		return c.flight, nil
	}
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	if c.tried > 0 && now-c.tried < c.opt.Between {
		return nil, c.failed
	}
	c.tried = max(now, 1)
	c.flight = &flight{done: make(chan struct{})}
	go c.fly(c.flight)
	return c.flight, nil
}

func (c *Catalogue) fly(f *flight) {
	ctx, cancel := context.WithTimeout(c.ctx, c.opt.Timeout)
	defer cancel()
	products, err := c.source.Products(ctx)
	if err == nil {
		c.copied.Store(list(products))
	}
	c.landed(f, err)
}

// landed records a flight's outcome. The next one is due after MaxAge, or, when
// this one failed, as soon as the source may be asked again.
func (c *Catalogue) landed(f *flight, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && c.failed == nil && c.ctx.Err() == nil:
		c.opt.Log.Warn("the catalogue cannot be refreshed; the last one is served", "error", err)
	case err == nil && c.failed != nil:
		c.opt.Log.Info("the catalogue is refreshed again")
	}
	next := c.opt.MaxAge
	if err != nil {
		next = c.opt.Between
	}
	c.due.Store(int64(c.age() + next))
	f.err, c.failed, c.flight = err, err, nil
	close(f.done)
}

func list(products []order.Product) *listing {
	l := &listing{bySKU: make(map[string]order.Product, len(products))}
	for _, p := range products {
		l.bySKU[p.SKU] = p
	}
	return l
}
