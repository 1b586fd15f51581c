package fleet

import (
	"context"
	"sync"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// watchers are the open pages. The first one starts the sampler, the last one
// stops it.
type watchers struct {
	mu     sync.Mutex
	pages  map[chan struct{}]struct{}
	stop   context.CancelFunc // of the sampler
	done   chan struct{}      // closed when the sampler before has ended
	closed bool
}

// join adds a page. news gets a token when a sample is taken; tokens a page is
// too slow for merge. leave must be called.
func (f *Fleet) join() (news <-chan struct{}, leave func(), err error) {
	w := &f.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed || f.ctx.Err() != nil:
		return nil, nil, &order.Refusal{Code: wire.CodeUnavailable, Detail: "this process is stopping; ask again"}
	case len(w.pages) >= f.opt.Watchers:
		return nil, nil, &order.Refusal{Code: wire.CodeOverloaded, Detail: "more pages are open than this process feeds"}
	}
	c := make(chan struct{}, 1)
	if len(w.pages) == 0 {
		f.startSampler()
	} else {
		c <- struct{}{} // there is something to show already
	}
	if w.pages == nil {
		w.pages = map[chan struct{}]struct{}{}
	}
	w.pages[c] = struct{}{}
	return c, func() { w.leave(c) }, nil
}

// startSampler runs one sampler after the one before has ended; w.mu is held.
func (f *Fleet) startSampler() {
	ctx, cancel := context.WithCancel(f.ctx)
	before, done := f.watch.done, make(chan struct{})
	f.watch.stop, f.watch.done = cancel, done
	f.work.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		f.sampling(ctx)
	})
}

func (w *watchers) leave(c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pages, c)
	if len(w.pages) == 0 {
		w.stop()
	}
}

// wake tells all pages that there may be news.
func (w *watchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.pages {
		select {
		case c <- struct{}{}:
		default: // it has not read the last ones yet
		}
	}
}

func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}
