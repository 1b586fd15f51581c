package order

import "sync/atomic"

// Room bounds how many orders wait to be placed. The count is the ledger's, a
// moment old, plus what this process took in since: close enough for a bound
// that keeps a table small.
type Room struct {
	Most    int64 // 0 means 200,000
	waiting atomic.Int64
	used    atomic.Bool
}

const defaultRoom = 200_000

// Enter counts one more in, if there is room.
func (r *Room) Enter() bool {
	most := r.Most
	if most <= 0 {
		most = defaultRoom
	}
	r.used.Store(true)
	if r.waiting.Load() >= most {
		return false
	}
	r.waiting.Add(1)
	return true
}

// Set is told what the ledger counts, and whether it ever took an intent in.
func (r *Room) Set(waiting int64, used bool) {
	r.waiting.Store(waiting)
	if used {
		r.used.Store(true)
	}
}

// Waiting is how many wait.
func (r *Room) Waiting() int64 { return r.waiting.Load() }

// Used reports whether orders are taken in here at all: who places at once need
// not look for an intent before he hears no, otherwise.
func (r *Room) Used() bool { return r != nil && r.used.Load() }
