package catalogue

import (
	"context"
	"fmt"
	"slices"

	"vendline/cloud/order"
)

// reloaded is how many planograms are read in one query.
const reloaded = 100

// readNews hears which cabinets have new planograms, reads those whose menus are
// kept, and which slots are out of order.
//
// The first time it hears only up to which number news are old. No menu is read
// before that, so none misses a version that came later.
func (c *Catalogue) readNews(ctx context.Context) error {
	list, err := c.source.SlotFaults(ctx)
	if err != nil {
		return fmt.Errorf("read slots: %w", err)
	}
	c.broken.Store(faultsOf(list))
	versions, upto, err := c.source.PlanogramChanges(ctx, c.upto)
	if err != nil {
		return fmt.Errorf("read new planograms: %w", err)
	}
	for some := range slices.Chunk(c.heard(versions), reloaded) {
		if err := c.reload(ctx, some...); err != nil {
			return err // the same news are heard again
		}
	}
	c.upto = upto
	c.heardOnce.Store(true)
	return nil
}

// heard notes new versions, and returns the cabinets whose menus they change.
func (c *Catalogue) heard(versions map[string]int64) (changed []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cabinet, v := range versions {
		c.newest[cabinet] = max(c.newest[cabinet], v)
		if m := c.menus[cabinet]; m != nil && m.version < v {
			changed = append(changed, cabinet)
		}
	}
	return changed
}

// faults are the slots that are out of order, by cabinet, with the SKU that each
// held when it failed; it never changes.
type faults struct{ byCabinet map[string]map[string]string }

func faultsOf(list []order.SlotFault) *faults {
	f := &faults{map[string]map[string]string{}}
	for _, s := range list {
		if f.byCabinet[s.Cabinet] == nil {
			f.byCabinet[s.Cabinet] = map[string]string{}
		}
		f.byCabinet[s.Cabinet][s.Slot] = s.SKU
	}
	return f
}

// suspends reports whether a SKU cannot be sold: all slots that hold it are out
// of order, or it failed as a product, under its own name, as it does at a
// cabinet that works by no planogram yet.
func (f *faults) suspends(cabinet, sku string, slots []string) bool {
	if f == nil {
		return false
	}
	broken := f.byCabinet[cabinet]
	if len(broken) == 0 {
		return false
	}
	if broken[sku] == sku {
		return true
	}
	for _, s := range slots {
		if _, ok := broken[s]; !ok {
			return false
		}
	}
	return len(slots) > 0
}
