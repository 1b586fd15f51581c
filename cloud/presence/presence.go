// Package presence knows how cabinets are: from their beats, their births and
// the broker's last wills. It keeps nothing; a process that starts hears the
// retained births at once and the beats within seconds.
package presence

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"vendline/shared/wire"
)

// Health is what can be said of a cabinet's connection.
type Health string

// Healths.
const (
	Online  Health = "online"  // a beat came lately
	Late    Health = "late"    // beats are missing, no last will has come
	Offline Health = "offline" // its session ended, or nothing came for long
)

// Cabinet is how one cabinet is, at the time it was asked for.
type Cabinet struct {
	ID       string
	Health   Health
	Seen     time.Time     // last sign of life, by the cloud's clock
	Age      time.Duration // since Seen
	Session  string
	Agent    string        // agent version
	Epoch    string        // of its outbox
	Gap      bool          // its previous outbox was damaged and set aside
	Depth    int64         // rows waiting in its outbox
	Parked   int64         // rows it cannot send
	Uptime   time.Duration // of the agent
	Skew     time.Duration // device clock less cloud clock, at the last beat
	Skewed   bool          // |Skew| is over the limit
	Answered time.Time     // when an event of its was last answered; zero if never, here
}

// Options are the limits; zero fields take the defaults in brackets.
type Options struct {
	Late    time.Duration // [45 s] without a beat
	Offline time.Duration // [2 min] without a beat
	Skew    time.Duration // [5 min]
}

// Fleet is the registry of all cabinets. Safe for concurrent use.
type Fleet struct {
	opt      Options
	mu       sync.Mutex
	cabinets map[string]*entry
}

type entry struct {
	Cabinet
	down  bool   // the present session ended
	ended string // the session that ended last
}

// New returns an empty registry.
func New(o Options) *Fleet {
	o.Late, o.Offline, o.Skew = cmp.Or(o.Late, 45*time.Second), cmp.Or(o.Offline, 2*time.Minute), cmp.Or(o.Skew, 5*time.Minute)
	return &Fleet{opt: o, cabinets: map[string]*entry{}}
}

// Beat takes a sign of life that came at the cloud's time at.
func (f *Fleet) Beat(b wire.Beat, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entry(b.Cabinet)
	if b.Session == e.ended {
		return // overtaken by its own last will
	}
	e.down = false
	e.Session, e.Epoch, e.Seen = b.Session, b.Epoch, at
	e.Depth, e.Parked, e.Uptime = b.Depth, b.Parked, time.Duration(b.Uptime)*time.Millisecond
	e.Skew = time.UnixMilli(b.At).Sub(at)
	e.Skewed = e.Skew > f.opt.Skew || e.Skew < -f.opt.Skew
}

// State takes a birth or a last will. A will of another session than the
// present one is late, and ignored.
func (f *Fleet) State(s wire.State, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entry(s.Cabinet)
	if !s.Online {
		if e.Session == "" {
			e.Session, e.Epoch, e.Agent = s.Session, s.Epoch, s.Agent
		}
		e.ended = s.Session
		e.down = e.down || e.Session == s.Session
		return
	}
	if s.Session == e.Session && e.down {
		return // a birth that its own last will overtook
	}
	e.down = false
	e.Session, e.Epoch, e.Agent, e.Gap, e.Seen = s.Session, s.Epoch, s.Agent, s.Gap, at
}

// Answered notes that an event of the cabinet was answered.
func (f *Fleet) Answered(cabinet string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entry(cabinet).Answered = at
}

// entry returns a cabinet's entry; f.mu is held.
func (f *Fleet) entry(id string) *entry {
	e, ok := f.cabinets[id]
	if !ok {
		e = &entry{Cabinet: Cabinet{ID: id}}
		f.cabinets[id] = e
	}
	return e
}

// Get returns how a cabinet is now; ok is false if it was never heard of.
func (f *Fleet) Get(id string, now time.Time) (c Cabinet, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.cabinets[id]
	if !ok {
		return Cabinet{}, false
	}
	return f.judge(e, now), true
}

// All returns all cabinets that were heard of, by id.
func (f *Fleet) All(now time.Time) []Cabinet {
	f.mu.Lock()
	all := make([]Cabinet, 0, len(f.cabinets))
	for _, e := range f.cabinets {
		all = append(all, f.judge(e, now))
	}
	f.mu.Unlock()
	slices.SortFunc(all, func(a, b Cabinet) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// judge says how a cabinet is from the age of what was last heard of it.
func (f *Fleet) judge(e *entry, now time.Time) Cabinet {
	c := e.Cabinet
	if !c.Seen.IsZero() {
		c.Age = max(0, now.Sub(c.Seen))
	}
	switch {
	case e.down || c.Seen.IsZero() || c.Age > f.opt.Offline:
		c.Health = Offline
	case c.Age > f.opt.Late:
		c.Health = Late
	default:
		c.Health = Online
	}
	return c
}
