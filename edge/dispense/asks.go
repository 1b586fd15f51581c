package dispense

import (
	"slices"
	"sync"
	"time"
)

// asks are the questions that an answer is still of use to. An answer to any
// other is ignored: nobody knows when it began to count.
type asks struct {
	mu       sync.Mutex
	last     []ask // oldest first
	count    int64
	answered time.Duration // when an answer last came
	heard    bool
}

type ask struct {
	id     string
	number int64 // 1, 2, 3 … in this process
	at     time.Duration
}

// keptAsks are as many as one may be waiting for at once, on a bad line.
const keptAsks = 8

// put remembers a question that is about to be sent: the interval begins before
// anything leaves us.
func (a *asks) put(id string, at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	a.last = append(a.last, ask{id, a.count, at})
	if len(a.last) > keptAsks {
		a.last = slices.Delete(a.last, 0, 1)
	}
}

// get finds the question that an answer names.
func (a *asks) get(id string, now time.Duration) (ask, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.last, func(q ask) bool { return q.id == id })
	if i < 0 {
		return ask{}, false
	}
	a.answered, a.heard = now, true
	return a.last[i], true
}

// ages are how long ago we last asked and last heard; negative means never.
func (a *asks) ages(now time.Duration) (asked, answered time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked, answered = -1, -1
	if n := len(a.last); n > 0 {
		asked = now - a.last[n-1].at
	}
	if a.heard {
		answered = now - a.answered
	}
	return asked, answered
}

// drop forgets a question that was never sent.
func (a *asks) drop(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = slices.DeleteFunc(a.last, func(q ask) bool { return q.id == id })
}

// asked is the number of the last question.
func (a *asks) asked() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// numberOf is the number of a question that is still remembered, or 0.
func (a *asks) numberOf(id string) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.IndexFunc(a.last, func(q ask) bool { return q.id == id }); i >= 0 {
		return a.last[i].number
	}
	return 0
}
