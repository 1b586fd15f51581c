package order

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Watcher tells those who wait for an order that it changed in this process.
// Changes made elsewhere are found by Wait's own look every second.
type Watcher struct {
	mu      sync.RWMutex
	waiting map[string][]chan struct{}
	taps    map[chan Order]struct{}
}

// NewWatcher returns a Watcher that nobody waits on.
func NewWatcher() *Watcher {
	return &Watcher{waiting: map[string][]chan struct{}{}, taps: map[chan Order]struct{}{}}
}

// Publish wakes those who wait for any of orders. It never blocks.
func (w *Watcher) Publish(orders []Order) {
	w.mu.RLock()
	idle := len(w.waiting) == 0 && len(w.taps) == 0
	w.mu.RUnlock()
	if idle || len(orders) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range orders {
		for _, c := range w.waiting[o.ID] {
			close(c)
		}
		delete(w.waiting, o.ID)
		for tap := range w.taps {
			select {
			case tap <- o:
			default: // a slow page misses some; it shows the newest anyway
			}
		}
	}
}

// Tap delivers every published order until stop is called, dropping what its
// reader is too slow for.
func (w *Watcher) Tap() (orders <-chan Order, stop func()) {
	c := make(chan Order, 256)
	w.mu.Lock()
	w.taps[c] = struct{}{}
	w.mu.Unlock()
	return c, func() {
		w.mu.Lock()
		delete(w.taps, c)
		w.mu.Unlock()
	}
}

func (w *Watcher) wait(id string) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{})
	w.mu.Lock()
	w.waiting[id] = append(w.waiting[id], c)
	w.mu.Unlock()
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		list := w.waiting[id]
		for i := range list {
			if list[i] == c {
				list = append(list[:i], list[i+1:]...)
				break
			}
		}
		if len(list) == 0 {
			delete(w.waiting, id)
		} else {
			w.waiting[id] = list
		}
	}
}

// Wait returns the order as soon as its state is final, or as it stands when d
// is over. An order that does not exist yet is waited for as well. Of one that
// waits to be placed, it is the outcome of that: its shopper can not pay before.
func (s *Service) Wait(ctx context.Context, id string, d time.Duration) (Order, error) {
	over := time.NewTimer(d)
	defer over.Stop()
	pending := false
	for {
		changed, stop := s.Watcher.wait(id)
		o, err := s.Ledger.Find(ctx, id)
		if err == nil {
			s.seen(ctx, id)
		}
		if err == nil && (o.Status.Final() || o.Refused() || pending && !o.Pending()) || err != nil && !errors.Is(err, ErrUnknown) {
			stop()
			return o, err
		}
		pending = pending || err == nil && o.Pending()
		look := time.NewTimer(time.Second)
		select {
		case <-changed:
		case <-look.C:
		case <-over.C:
			stop()
			look.Stop()
			return o, err
		case <-ctx.Done():
			stop()
			look.Stop()
			return o, ctx.Err()
		}
		stop()
		look.Stop()
	}
}
