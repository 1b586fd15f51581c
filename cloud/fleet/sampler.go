package fleet

import (
	"context"
	"maps"
	"slices"
	"time"
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
	desked, read  time.Time // likewise: the desk, and the orders on the page
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
	var desk *deskView
	if now.Sub(s.desked) >= deskEvery {
		s.desked = now
		v, suspended, err := s.readDesk(ctx)
		s.note(sourceLedger, err)
		if desk = &v; err == nil { // else the slots stay as they were last known
			s.suspend(suspended)
		}
	}
	if now.Sub(s.read) >= fresh {
		s.read = now
		s.reread(ctx)
	}
	if ctx.Err() == nil {
		s.publish(now, pipeline, desk)
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
	// A quarter is left to quiet cabinets, however many are busy.
	busy = busy[:min(len(busy), reads-min(len(quiet), reads/4))]
	all := append(busy, quiet...)
	return all[:min(len(all), reads)]
}

// publish renders everything; a part that came out the same is not news.
func (s *sampler) publish(now time.Time, pipeline *pipelineView, desk *deskView) {
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
		st.cabinets[id].render(id, presences[id], suspendedAt(st.faults, id), st.names, st.sample, calm)
	}
	st.recent.render(st.sample)
	if pipeline != nil {
		st.pipeline.set(pipeline, st.sample)
	}
	if desk != nil {
		st.desk.set(desk, st.sample)
	}
	away := slices.AppendSeq([]string{}, maps.Keys(s.failed))
	slices.Sort(away)
	st.away.set(away, st.sample)
}
