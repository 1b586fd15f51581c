package intake

import (
	"sync"
	"sync/atomic"
	"time"
)

// Counts are totals since the start.
type Counts struct {
	Accepted   int64 // orders answered with a yes, replays included
	Refused    int64 // events answered with a no
	Facts      int64 // facts that are durable, replays included
	Buried     int64 // messages that became dead letters
	Retries    int64 // tries after the first
	Unanswered int64 // events left to their cabinets because a server was away
	Shed       int64 // events left to their cabinets because there were too many
	Unsaid     int64 // answers that could not be sent: no connection
	Waiting    int64 // events that wait for a worker now
}

type counts struct {
	accepted, refused, facts, buried, retries, unanswered, shed, unsaid atomic.Int64
}

// Counts returns the totals.
func (in *Intake) Counts() Counts {
	c := &in.counts
	return Counts{
		Accepted: c.accepted.Load(), Refused: c.refused.Load(), Facts: c.facts.Load(), Buried: c.buried.Load(),
		Retries: c.retries.Load(), Unanswered: c.unanswered.Load(), Shed: c.shed.Load(), Unsaid: c.unsaid.Load(),
		Waiting: int64(len(in.work)),
	}
}

// sometimes bounds how often the same thing is told.
type sometimes struct {
	mu     sync.Mutex
	next   time.Time
	missed int
}

// tellEvery is the shortest time between two log lines of one kind.
const tellEvery = 10 * time.Second

// allow reports whether to tell now, and how often it was not told before.
func (s *sometimes) allow(now time.Time) (missed int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next) {
		s.missed++
		return 0, false
	}
	missed, s.missed = s.missed, 0
	s.next = now.Add(tellEvery)
	return missed, true
}
