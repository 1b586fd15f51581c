package model

import "maps"

// view is one consistent snapshot of MySQL.
type view struct {
	token   string
	avail   int
	orders  map[string]entry
	log     map[string]entry
	facts   map[string]int
	pending map[string]bool // ids whose Redis effect waits in the outbox
	locked  bool
}

func (w *world) view() view {
	v := view{token: w.token, avail: w.avail, orders: map[string]entry{}, log: maps.Clone(w.log), facts: maps.Clone(w.facts), pending: map[string]bool{}, locked: w.lock != nil}
	for id, o := range w.orders {
		v.orders[id] = *o
	}
	for _, r := range w.outbox {
		if r.kind != stock {
			v.pending[r.id] = true
		}
	}
	return v
}

// rebuild holds the cabinet's row, loads Redis from one snapshot under a fresh
// token, then commits the token.
func (w *world) rebuild(y yield) bool {
	if !w.waitForRow(y) {
		return false
	}
	me := new(int)
	w.lock = me
	defer func() {
		if w.lock == me {
			w.lock = nil
		}
	}()
	token := w.mint("t")
	v := w.view()
	if !y(struct{}{}) {
		return false
	}
	next := redis{token: token, mutations: w.redis.mutations + 1, stock: v.avail, marks: map[string]mark{}, resv: map[string]bool{}}
	for id, o := range v.orders {
		next.stock -= o.state.takes(o.q)
		state := Rolled
		if o.state.takes(1) > 0 {
			state = Held
			next.resv[id] = v.log[id].ver < o.ver
		}
		next.marks[id] = mark{state: state, ver: o.ver, q: o.q}
	}
	for id, g := range v.log {
		next.stock += g.state.takes(g.q)
		if !next.resv[id] {
			delete(next.resv, id)
		}
	}
	for id, n := range v.facts {
		if _, known := v.log[id]; !known {
			next.stock += n
		}
		if v.pending[id] && w.bug != RebuildForgetsPending {
			next.marks[id] = mark{state: Fact, ver: 1, q: n}
		}
	}
	w.redis = next
	w.snaps = []redis{next.clone()}
	if !y(struct{}{}) {
		return false
	}
	w.token, w.dirty = token, false
	return true
}

// expected is what Redis must have, given its markers and a snapshot of MySQL
// taken while it stood still.
func (v view) expected(r redis) int {
	want := v.avail
	ids := map[string]bool{}
	for id := range v.orders {
		ids[id] = true
	}
	for id := range v.log {
		if _, fact := v.facts[id]; !fact {
			ids[id] = true
		}
	}
	for id := range r.resv {
		ids[id] = true
	}
	for id := range ids {
		o, ordered := v.orders[id]
		m, marked := r.marks[id]
		want += v.log[id].state.takes(v.log[id].q)
		switch {
		case marked && (!ordered || m.ver > o.ver || v.pending[id]): // in progress, or Redis is still to hear
			want -= m.state.takes(m.q)
		case !marked && v.pending[id]:
		default:
			want -= o.state.takes(o.q)
		}
	}
	for id, n := range v.facts {
		if _, marked := r.marks[id]; marked || !v.pending[id] {
			want += n
		}
		if _, known := v.log[id]; known {
			want -= n
		}
	}
	return want
}

// reconcile compares while nothing moves, and repairs by compare-and-add.
func (w *world) reconcile(y yield) bool {
	mutations, token := w.redis.mutations, w.redis.token
	if !y(struct{}{}) {
		return false
	}
	v := w.view()
	if !y(struct{}{}) {
		return false
	}
	r := w.redis.clone()
	if r.mutations != mutations || r.token != token || v.token != r.token || v.locked {
		return true
	}
	want := v.expected(r)
	if want == r.stock {
		return true
	}
	if !y(struct{}{}) {
		return false
	}
	if w.redis.mutations == r.mutations && w.redis.token == r.token {
		if !w.dirty {
			w.fail("false repair: expected %d, Redis %d", want, r.stock)
		}
		w.redis.stock += want - r.stock
		w.redis.mutations++
		w.Repairs++
	}
	return true
}
