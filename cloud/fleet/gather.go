package fleet

import (
	"context"
	"errors"
	"slices"
	"time"

	"vendline/cloud/order"
)

// readCabinets reads the shelves of some cabinets from the ledger, and what the
// filter would sell of them.
func (s *sampler) readCabinets(ctx context.Context, ids []string, now time.Time) {
	if len(ids) == 0 {
		return
	}
	var live map[string]map[string]int64
	if s.opt.Live != nil {
		soon, cancel := context.WithTimeout(ctx, readTimeout)
		all, err := s.opt.Live.SellableMany(soon, ids)
		cancel()
		s.note(sourceStock, err)
		live = all // nil on error: unknown
	}
	for _, id := range ids {
		if err := s.readCabinet(ctx, id, live[id], now); err != nil {
			return // the ledger is away: asking for the others would only wait for as many timeouts
		}
	}
}

func (s *sampler) readCabinet(ctx context.Context, id string, live map[string]int64, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	shelves, err := s.opt.Ledger.Shelves(ctx, id)
	s.note(sourceLedger, err)
	if err != nil {
		return err
	}
	if shelves == nil {
		shelves = []Shelf{} // read, and empty
	}
	// The tap drops what it is too slow for, and other processes' orders do not
	// pass here: now and then the list is read as well.
	var orders []order.Order
	listed := s.listedAt(id)
	if now.Sub(listed) >= stale {
		if orders, err = s.opt.Ledger.Recent(ctx, id, shownOrders/2); err != nil {
			s.note(sourceLedger, err)
			return err
		}
		listed = now
	}
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	for _, o := range orders {
		s.state.recent.add(o)
	}
	if k := s.state.cabinets[id]; k != nil {
		k.shelves, k.live, k.read, k.listed, k.wants, k.stale = shelves, live, now, listed, false, true
	}
	return nil
}

func (s *sampler) listedAt(id string) (at time.Time) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	if k := s.state.cabinets[id]; k != nil {
		at = k.listed
	}
	return at
}

// note remembers whether a source answered, and logs when that is news.
func (s *sampler) note(source string, err error) {
	was := s.failed[source]
	switch {
	case err == nil:
		delete(s.failed, source)
	case errors.Is(err, context.Canceled):
		// Nobody watches any more: the failure is ours.
	default:
		s.failed[source] = err
		if was == nil {
			s.opt.Log.Warn("the fleet page cannot read a source", "source", source, "error", err)
		}
	}
}

// readLists finds new cabinets and products.
func (s *sampler) readLists(ctx context.Context) {
	soon, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	ids, err := s.opt.Ledger.Cabinets(soon)
	s.note(sourceLedger, err)
	if err != nil {
		s.listed = time.Time{} // as soon as it answers
		return
	}
	products, err := s.opt.Ledger.Products(soon)
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	for _, p := range products {
		s.state.names[p.SKU] = p.Name
	}
	if !slices.Equal(ids, s.state.order) {
		s.state.order, s.state.listed = ids, s.state.sample+1
		old := s.state.cabinets
		s.state.cabinets = make(map[string]*kept, len(ids))
		for _, id := range ids {
			if s.state.cabinets[id] = old[id]; old[id] == nil {
				s.state.cabinets[id] = &kept{}
			}
		}
	}
	if err != nil {
		s.listed = time.Time{}
	}
}
