package model

import "maps"

// mark is a marker in Redis.
type mark struct {
	state  State // Held, Rolled (released), Fact (done)
	ver, q int
	ticket int
}

// redis is what Redis keeps of the cabinet. Each method is one script: atomic.
type redis struct {
	token                  string
	mutations, last, stock int
	marks                  map[string]mark
	resv                   map[string]bool
}

func (r redis) clone() redis {
	r.marks, r.resv = maps.Clone(r.marks), maps.Clone(r.resv)
	return r
}

// reply codes of deduct.
const (
	done     = 200
	seen     = 409 // by the same version or a newer one, and held
	released = 408 // … and given back since
	short    = 410
)

func (w *world) deduct(id string, q, ver int) (int, run) {
	r := &w.redis
	m, known := r.marks[id]
	if w.bug == CheckBeforeMarker && r.stock < q {
		return short, run{token: r.token}
	}
	if known && m.ver >= ver {
		if m.state == Held {
			return seen, run{r.token, m.ticket}
		}
		return released, run{r.token, m.ticket}
	}
	take := q
	if known && m.state == Held && w.bug != RetryTakesTwice { // held → held takes nothing
		take = 0
	}
	if r.stock < take {
		return short, run{token: r.token}
	}
	ticket := m.ticket
	if take > 0 {
		r.last++
		ticket = r.last
	}
	r.stock -= take
	r.marks[id] = mark{Held, ver, q, ticket}
	r.resv[id] = true
	r.mutations++
	return done, run{r.token, ticket}
}

func (w *world) rollback(id string, q, ver int) run {
	r := &w.redis
	m, known := r.marks[id]
	if known && m.ver >= ver && w.bug != RollbackWithoutMarker {
		return run{token: r.token}
	}
	if known && m.state == Held || w.bug == RollbackWithoutMarker {
		r.stock += q
	}
	r.marks[id] = mark{state: Rolled, ver: ver, q: q}
	delete(r.resv, id)
	r.mutations++
	return run{token: r.token}
}

func (w *world) adjust(id string, n int) run {
	r := &w.redis
	if _, known := r.marks[id]; !known || w.bug == AdjustTwice {
		r.last++
		r.stock += n
		r.marks[id] = mark{Fact, 1, n, r.last}
		r.mutations++
	}
	return run{r.token, r.marks[id].ticket}
}

func (w *world) settle(id string, ver int) {
	r := &w.redis
	if m, known := r.marks[id]; known && m.ver <= ver && r.resv[id] {
		delete(r.resv, id)
		if w.bug != SettleUncounted {
			r.mutations++
		}
	}
}
