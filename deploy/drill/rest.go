package drill

import (
	"fmt"
	"time"
)

func allAnswered(e evidence, broken report) {
	for _, ev := range e.events {
		if ev.Outcome == Unanswered {
			_, placed := e.orders[ev.ID]
			broken(ev.ID, ev.Fault, "a %s at %s was asked again and again and never heard yes or no (in MySQL: %v)", ev.Kind, ev.Cabinet, placed)
		}
	}
}

func allFinal(e evidence, broken report) {
	for _, o := range e.state.Orders {
		if !final(o.Status) {
			broken(o.ID, "", "it is %s, its hold ends at %s", o.Status, time.UnixMilli(o.HoldUntil))
		}
	}
}

// overtime is how long a hold may live past its end.
const overtime = 60 * time.Second

// holdsEnded: an order's change is its last one; one that was rolled back at its
// end was so in time, and one that is held still has time.
// Where vend-cloud's clock was wrong, the times it wrote are put right first: a
// hold lasts so long in real time. It can not end before a clock that was set
// back is right again, or has caught up.
func holdsEnded(e evidence, broken report) {
	for _, o := range e.state.Orders {
		placed := e.real(o.Created)
		ended, expires := e.real(o.Changed), placed+o.Expires-o.Created
		// A hold's end is an instant: one that was dated by a clock that was ahead, and
		// is right again, may end that much later.
		expires += max(0, o.Created-placed)
		if !final(o.Status) {
			ended = e.state.At
		}
		if late := time.Duration(ended-expires) * time.Millisecond; late > overtime {
			broken(o.ID, "", "%s (%s), %s after its hold's end", o.Status, o.Cause, late)
		}
	}
}

// boundary is how long a clock takes to hear that it is wrong, at most.
const boundary = 2000 // ms

// real is when it was by a right clock, when vend-cloud's said so.
func (e evidence) real(said int64) int64 {
	clocks := e.state.Clocks
	for i := len(clocks) - 1; i >= 0; i-- {
		at, to := said-clocks[i].By, e.state.At
		if i+1 < len(clocks) {
			to = clocks[i+1].From
		}
		if at >= clocks[i].From-boundary && at <= to+boundary {
			return at
		}
	}
	return said
}

// redisAgrees at rest: nothing is unapplied, so both say the very same.
func redisAgrees(e evidence, broken report) {
	for _, c := range e.plan.Cabinets {
		r := e.state.Redis[c]
		if r.Generation != e.state.Generations[c] || r.Generation == "" {
			broken("", "", "%s is loaded under %q, MySQL is at %q", c, r.Generation, e.state.Generations[c])
		}
		units := map[string]int64{}
		for _, row := range e.state.Stock {
			if row.Cabinet == c {
				units[row.SKU] = row.Available
			}
		}
		for sku, n := range r.Units {
			if _, known := units[sku]; !known {
				broken("", "", "%s: Redis sells %d of %s, the ledger has none", c, n, sku)
			}
		}
		for sku, n := range units {
			if got, ok := r.Units[sku]; !ok || got != n {
				broken("", "", "%s: Redis sells %s of %s, the ledger %d", c, orNone(got, ok), sku, n)
			}
		}
	}
}

func orNone(n int64, ok bool) string {
	if !ok {
		return "none"
	}
	return fmt.Sprint(n)
}

func nothingReserved(e evidence, broken report) {
	for c, r := range e.state.Redis {
		for _, id := range r.Reserved {
			o, ok := e.orders[id]
			broken(id, "", "it is in resv of %s; MySQL has it: %v %s version %d", c, ok, o.Status, o.Version)
		}
	}
}

func nothingLeft(e evidence, broken report) {
	for kind, n := range e.state.Outbox {
		if n > 0 {
			broken("", "", "%d %s rows are in local_msg", n, kind)
		}
	}
	if e.state.Queue > 0 {
		broken("", "", "%d messages are in the queue", e.state.Queue)
	}
	for _, reason := range e.state.Letters {
		broken("", "", "a dead letter: %s", reason)
	}
	for c, a := range e.state.Agents {
		if a.Depth > 0 || a.Parked > 0 || a.SetAside != "" {
			broken("", "", "the agent of %s: %d events wait, %d are parked, set aside: %q", c, a.Depth, a.Parked, a.SetAside)
		}
	}
}
