package model

import "fmt"

// A step ends where the process may die or another one may go on: an operation
// calls yield there, and returns false at once when yield does.
type yield = func(struct{}) bool

// counts is the transaction that makes an effect on Redis count: is the
// generation it ran under current, and its ticket drawn by nobody else?
func (w *world) counts(r run, owner string) bool {
	if r.token != w.token {
		return w.bug == NoGeneration
	}
	if r.ticket == 0 || w.bug == NoTicket {
		return true
	}
	if first, drawn := w.tickets[r]; drawn && first != owner { // Redis went back in time
		w.Caught++
		w.draw()
		return false
	}
	w.tickets[r] = owner
	return true
}

func (w *world) waitForRow(y yield) bool {
	for w.lock != nil {
		if !y(struct{}{}) {
			return false
		}
	}
	return true
}

// place is a client; now and then one that sends its request twice.
func (w *world) place(y yield) bool {
	id, q := w.mint("o"), 1+w.rng.IntN(3)/2
	if w.rng.Float64() < .1 && !w.placeOnce(y, id, q) {
		return false
	}
	return w.placeOnce(y, id, q)
}

func (w *world) placeOnce(y yield, id string, q int) bool {
	for range 6 {
		code, r := w.deduct(id, q, 1)
		if !y(struct{}{}) {
			return false
		}
		o, exists := w.orders[id]
		if code == short && exists && !w.dirty && r.token == w.token && o.state != Rolled {
			w.fail("a replay of %s is told sold out", id)
		}
		if code == short || code == released {
			return true
		}
		if !w.waitForRow(y) {
			return false
		}
		if _, exists := w.orders[id]; exists { // duplicate key: the row answers
			return true
		}
		if w.counts(r, id) {
			o := entry{id, q, Held, 1}
			w.orders[id] = &o
			w.add(stock, o)
			return true
		}
		if !w.rebuild(y) {
			return false
		}
	}
	return true
}

func (w *world) retry(y yield) bool {
	o := w.some(func(o *entry) bool { return o.state == Rolled && o.ver < 9 })
	if o == nil {
		return true
	}
	ver := o.ver
	code, r := w.deduct(o.id, o.q, ver+1)
	if !y(struct{}{}) {
		return false
	}
	if code != done && code != seen {
		return true
	}
	if !w.waitForRow(y) {
		return false
	}
	if o.state == Rolled && o.ver == ver && w.counts(r, fmt.Sprintf("%s@%d", o.id, ver)) {
		o.state, o.ver = Held, ver+1
		w.add(stock, *o)
	}
	return true
}

func (w *world) giveBack(y yield) bool {
	if o := w.some(func(o *entry) bool { return o.state == Held }); o != nil {
		w.end(o)
		return y(struct{}{})
	}
	return true
}

// end rolls a hold back and tells stock and Redis.
func (w *world) end(o *entry) {
	o.state, o.ver = Rolled, o.ver+1
	w.add(stock, *o)
	w.add(release, *o)
}

func (w *world) pay(y yield) bool {
	if o := w.some(func(o *entry) bool { return o.state == Held }); o != nil {
		o.state, o.ver = Paid, o.ver+1
		w.add(stock, *o)
		return y(struct{}{})
	}
	return true
}

func (w *world) happen(y yield) bool {
	n := []int{1, 2, 5, -1, -1, -2}[w.rng.IntN(6)]
	w.record(w.mint("f"), n)
	if n < 0 {
		w.settleShortage()
	}
	return y(struct{}{})
}

func (w *world) record(id string, n int) {
	w.facts[id] = n
	w.add(stock, entry{id, n, Fact, 1})
	w.add(adjust, entry{id, n, Fact, 1})
}

// settleShortage is one transaction: losers first, else drift.
func (w *world) settleShortage() {
	for _, id := range sorted(w.orders) {
		if w.truth() >= 0 {
			return
		}
		if o := w.orders[id]; o.state == Held {
			w.end(o)
			w.Shortages++
		}
	}
	if k := -w.truth(); k > 0 {
		w.record(w.mint("d"), k)
		w.Drift += k
	}
}

// fallback places an order while Redis is away: MySQL decides, under the row's lock.
func (w *world) fallback(y yield) bool {
	if !w.waitForRow(y) {
		return false
	}
	q := 1 + w.rng.IntN(2)
	if w.truth() < q {
		return true
	}
	o := entry{w.mint("o"), q, Held, 1}
	w.orders[o.id] = &o
	w.add(stock, o)
	if w.bug != FallbackKeepsToken {
		w.draw()
	}
	return y(struct{}{})
}

// sweep settles orphan holds: in MySQL first, so that what is late fails.
func (w *world) sweep(y yield) bool {
	for _, id := range sorted(w.redis.resv) {
		m, known := w.redis.marks[id]
		if !known || m.state != Held {
			continue
		}
		o := w.orders[id]
		if o != nil && m.ver <= o.ver {
			continue
		}
		if !w.counts(run{w.redis.token, m.ticket}, id+"#orphan") {
			return true
		}
		switch {
		case o == nil:
			o = &entry{id, m.q, Rolled, m.ver + 1}
			w.orders[id] = o
		case o.state == Rolled:
			o.ver = m.ver + 1
		default:
			continue
		}
		w.add(stock, *o)
		w.add(release, *o)
		if !y(struct{}{}) {
			return false
		}
	}
	return true
}
