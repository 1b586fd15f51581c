package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"vendline/cloud/order"
)

// Bounds of one sample, so that a page costs the ledger the same whether ten
// cabinets sell or ten thousand.
const (
	firstReads = 64               // cabinets read in a sample while some were never read
	reads      = 12               // cabinets read in a sample afterwards
	fresh      = time.Second      // a cabinet whose orders are seen is read at most this often
	stale      = 10 * time.Second // a quiet cabinet is read again after this
	slowly     = 2 * time.Second  // between two looks at the pipeline
	rarely     = 10 * time.Second // between two looks at the lists of cabinets and products

	// With 1,000 cabinets that beat every few seconds, most of a stream would be
	// their beats: the more there are, the less often each one's is news.
	beatShare = 10 * time.Millisecond
)

// sampler is one stretch of watching: from the first page to the last.
type sampler struct {
	*Fleet
	listed, piped time.Time // when these were read last
	rate          rate
	failed        map[string]error // sources that failed in their last read
	from          int              // where the next round of quiet cabinets begins
}

// sampling runs until ctx ends: while anybody watches.
func (f *Fleet) sampling(ctx context.Context) {
	s := &sampler{Fleet: f, failed: map[string]error{}}
	f.state.begin()
	if f.opt.Tap != nil {
		orders, end := f.opt.Tap()
		defer end()
		f.work.Go(func() {
			for {
				select {
				case o := <-orders:
					f.state.saw(o)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	tick := time.NewTicker(f.opt.Every)
	defer tick.Stop()
	for {
		s.sample(ctx)
		if ctx.Err() != nil {
			return
		}
		f.watch.wake()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sample reads what is due and renders what changed.
func (s *sampler) sample(ctx context.Context) {
	now := s.opt.Clock()
	if now.Sub(s.listed) >= rarely {
		s.listed = now
		s.readLists(ctx)
	}
	due := s.due(now)
	s.readCabinets(ctx, due, now)
	var pipeline *pipelineView
	if now.Sub(s.piped) >= slowly {
		v, failed := s.readPipelineParts(ctx)
		if !s.rate.at.IsZero() {
			s.piped = now // else the next sample tells the rate
		}
		v.Rate = s.rate.next(s.opt.Placed, now)
		pipeline = &v
		s.note(sourceQueue, failed[sourceQueue])
		s.note(sourceLedger, failed[sourceLedger])
	}
	if ctx.Err() == nil {
		s.publish(now, pipeline)
	}
}

// due chooses the cabinets to read: those never read, then those with orders,
// then quiet ones in turn.
func (s *sampler) due(now time.Time) []string {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	var never, busy, quiet []string
	n := len(s.state.order)
	for i := range n {
		id := s.state.order[(s.from+i)%n]
		switch k := s.state.cabinets[id]; {
		case k.read.IsZero():
			never = append(never, id)
		case k.wants && now.Sub(k.read) >= fresh:
			busy = append(busy, id)
		case now.Sub(k.read) >= stale:
			quiet = append(quiet, id)
		}
	}
	if len(never) > 0 {
		return never[:min(len(never), firstReads)]
	}
	if n > 0 {
		s.from = (s.from + reads) % n // no cabinet is always last
	}
	all := append(busy, quiet...)
	return all[:min(len(all), reads)]
}

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

// publish renders everything; a part that came out the same is not news.
func (s *sampler) publish(now time.Time, pipeline *pipelineView) {
	presences := map[string]*Presence{}
	for _, p := range s.opt.Presences() {
		presences[p.Cabinet] = &p
	}
	st := &s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	st.sample++
	st.at = now
	calm := time.Duration(len(st.order)) * beatShare
	for _, id := range st.order {
		st.cabinets[id].render(id, presences[id], st.names, st.sample, calm)
	}
	st.recent.render(st.sample)
	if pipeline != nil {
		st.pipeline.set(pipeline, st.sample)
	}
	away := slices.AppendSeq([]string{}, maps.Keys(s.failed))
	slices.Sort(away)
	st.away.set(away, st.sample)
}
