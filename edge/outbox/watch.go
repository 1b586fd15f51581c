package outbox

import (
	"slices"
	"sync"
)

// watchers are those who wait for an id to be settled.
type watchers struct {
	mu sync.Mutex
	of map[string][]chan struct{}
}

// Watch returns a channel that is closed when id is settled, and a function that
// must be called to stop watching. Watch first, then Lookup: an answer that came
// in between is then not missed.
func (o *Outbox) Watch(id string) (settled <-chan struct{}, stop func()) {
	ch := make(chan struct{})
	w := &o.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = make(map[string][]chan struct{})
	}
	w.of[id] = append(w.of[id], ch)
	return ch, func() { w.drop(id, ch) }
}

func (w *watchers) fire(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.of[id] {
		close(ch)
	}
	delete(w.of, id)
}

func (w *watchers) drop(id string, ch chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := slices.DeleteFunc(w.of[id], func(c chan struct{}) bool { return c == ch })
	if w.of[id] = left; len(left) == 0 {
		delete(w.of, id)
	}
}
