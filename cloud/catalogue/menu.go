package catalogue

import (
	"context"
	"fmt"
	"slices"

	"vendline/shared/wire"
)

// menu is what one cabinet sells, by one version of its planogram; it never
// changes. Version 0 is a cabinet without one: it sells all that it stocks, at
// the chain's prices.
type menu struct {
	version int64
	bySKU   map[string]place
	older   []*menu // versions before it that somebody asked for, latest first
}

// place is where a product is, and what it costs.
type place struct {
	price    int64
	currency string
	slots    []string
}

// keptVersions is how many older versions of a cabinet are kept.
const keptVersions = 4

func menuFrom(p wire.Planogram, older []*menu) *menu {
	m := &menu{version: p.Version, bySKU: make(map[string]place, len(p.Slots)), older: older[:min(len(older), keptVersions)]}
	for _, s := range p.Slots {
		at := m.bySKU[s.SKU]
		at.price, at.currency, at.slots = s.Price, s.Currency, append(at.slots, s.Slot)
		m.bySKU[s.SKU] = at
	}
	return m
}

func (c *Catalogue) menuOf(cabinet string) *menu {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.menus[cabinet]
}

// load returns a cabinet's menu, reading it if it is not here, once for all who
// wait for it.
func (c *Catalogue) load(ctx context.Context, cabinet string) (*menu, error) {
	for {
		c.mu.Lock()
		if m := c.menus[cabinet]; m != nil {
			c.mu.Unlock()
			return m, nil
		}
		f := c.loads[cabinet]
		if f == nil {
			if err := c.ctx.Err(); err != nil {
				c.mu.Unlock()
				return nil, err
			}
			f = &flight{done: make(chan struct{})}
			c.loads[cabinet] = f
			c.work.Go(func() { c.fetch(cabinet, f) })
		}
		c.mu.Unlock()
		if err := f.wait(ctx); err != nil {
			return nil, err
		}
	}
}

func (c *Catalogue) fetch(cabinet string, f *flight) {
	ctx, cancel := context.WithTimeout(c.ctx, c.opt.Timeout)
	defer cancel()
	f.err = c.reload(ctx, cabinet)
	c.mu.Lock()
	delete(c.loads, cabinet)
	c.mu.Unlock()
	close(f.done)
}

// reload reads the newest planograms of cabinets and keeps them. One that was
// read before a newer version, of which the news told meanwhile, is read again:
// nobody would be told of it once more.
func (c *Catalogue) reload(ctx context.Context, cabinets ...string) error {
	for len(cabinets) > 0 {
		found, err := c.source.Planograms(ctx, cabinets...)
		if err != nil {
			return fmt.Errorf("read planograms: %w", err)
		}
		cabinets = c.keep(cabinets, func(cabinet string) wire.Planogram { return found[cabinet].Planogram })
	}
	return nil
}

// keep makes what was read of cabinets their menus, and returns those of which
// something newer was heard.
func (c *Catalogue) keep(cabinets []string, read func(string) wire.Planogram) (again []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cabinet := range cabinets {
		p, was := read(cabinet), c.menus[cabinet]
		if p.Version < c.newest[cabinet] {
			again = append(again, cabinet)
			continue
		}
		if was != nil && p.Version <= was.version {
			continue
		}
		var older []*menu
		if was != nil && was.version > 0 {
			older = append([]*menu{{version: was.version, bySKU: was.bySKU}}, was.older...)
		}
		if was == nil && len(c.menus) >= c.opt.Cabinets {
			for one := range c.menus { // any will do: it is read again when it is asked for
				delete(c.menus, one)
				break
			}
		}
		c.menus[cabinet] = menuFrom(p, older)
	}
	return again
}

// PriceAt returns what a SKU cost at a cabinet under a version of its planogram;
// ok is false when it was not sold under it, or there is no such version. A
// version that this copy has not heard of yet makes the caller wait for one
// refresh, after which Product knows it, too.
func (c *Catalogue) PriceAt(ctx context.Context, cabinet string, version int64, sku string) (price wire.Price, ok bool, err error) {
	m, err := c.versionOf(ctx, cabinet, version)
	if err != nil || m == nil {
		return price, false, err
	}
	at, ok := m.bySKU[sku]
	return wire.Price{SKU: sku, Price: at.price, Currency: at.currency}, ok, nil
}

func (c *Catalogue) versionOf(ctx context.Context, cabinet string, version int64) (*menu, error) {
	m := c.menuOf(cabinet)
	if m == nil || m.version < version { // no menu is here before news were heard
		var err error
		if m, err = c.ask(ctx, cabinet, c.age()); err != nil {
			return nil, fmt.Errorf("catalogue: look version %d of %s up: %w", version, cabinet, err)
		}
	}
	if m.version == version {
		return m, nil
	}
	if i := slices.IndexFunc(m.older, func(o *menu) bool { return o.version == version }); i >= 0 {
		return m.older[i], nil
	}
	if m.version < version || version < 1 {
		return nil, nil
	}
	p, ok, err := c.source.PlanogramAt(ctx, cabinet, version)
	if err != nil || !ok {
		return nil, err
	}
	old := menuFrom(p, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.menus[cabinet]; now != nil && now.version > version {
		c.menus[cabinet] = &menu{version: now.version, bySKU: now.bySKU, older: append([]*menu{old}, now.older[:min(len(now.older), keptVersions-1)]...)}
	}
	return old, nil
}
