package outbox

import (
	"sync"
	"time"
)

// ages remembers, sparsely, when rows arrived on the monotonic clock: the wall
// clock of a cabinet may jump by decades, and an age must not.
type ages struct {
	mu    sync.Mutex
	marks []mark
}

type mark struct {
	seq int64 // rows from here on
	at  time.Duration
}

const (
	markEvery = 10 * time.Second
	maxMarks  = 512
)

func (a *ages) mark(seq int64, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.marks); n > 0 && now-a.marks[n-1].at < markEvery {
		return
	}
	if len(a.marks) == maxMarks { // thin out: ages get coarser, never unbounded
		for i := range maxMarks / 2 {
			a.marks[i] = a.marks[2*i]
		}
		a.marks = a.marks[:maxMarks/2]
	}
	a.marks = append(a.marks, mark{seq, now})
}

// of returns the age of row seq. A row from before this process began is as old
// as the process, at least.
func (a *ages) of(seq int64, now time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := len(a.marks) - 1; i >= 0; i-- {
		if a.marks[i].seq <= seq {
			return now - a.marks[i].at
		}
	}
	return now
}

// OldestAge is how long the oldest waiting row has waited, at least; 0 when none
// waits. It counts from Open at the earliest, on the monotonic clock.
func (o *Outbox) OldestAge() time.Duration {
	seq := o.oldest()
	if seq == 0 {
		return 0
	}
	return o.ages.of(seq, o.opt.Mono())
}
