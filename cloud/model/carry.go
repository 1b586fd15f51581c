package model

import (
	"maps"
	"slices"
)

// relay sends stock rows, in any order, a few at a time.
func (w *world) relay(y yield) bool {
	rows := slices.DeleteFunc(slices.Clone(w.outbox), func(r row) bool { return r.kind != stock })
	w.rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for _, r := range rows[:min(3, len(rows))] {
		if !slices.ContainsFunc(w.outbox, func(x row) bool { return x.n == r.n }) {
			continue
		}
		w.queue = append(w.queue, r.entry)
		if !y(struct{}{}) {
			return false
		}
		w.remove(r.n)
		if !y(struct{}{}) {
			return false
		}
	}
	return true
}

// effects carries one Redis row, then makes it count.
func (w *world) effects(y yield) bool {
	rows := slices.DeleteFunc(slices.Clone(w.outbox), func(r row) bool { return r.kind == stock })
	if len(rows) == 0 {
		return true
	}
	r := rows[w.rng.IntN(len(rows))]
	var ran run
	if r.kind == adjust {
		ran = w.adjust(r.id, r.q)
	} else {
		ran = w.rollback(r.id, r.q, r.ver)
	}
	if !y(struct{}{}) || !w.waitForRow(y) {
		return false
	}
	if w.counts(ran, r.id) {
		w.remove(r.n)
		return true
	}
	return w.rebuild(y)
}

// delta is what a state does to a stock row.
type delta struct{ avail, locked, sold int }

func effectOf(s State, q int) delta {
	switch s {
	case Held:
		return delta{-q, q, 0}
	case Paid:
		return delta{-q, 0, q}
	case Fact:
		return delta{q, 0, 0}
	}
	return delta{}
}

// consume is step 8: a batch that is reordered, duplicated and regrouped.
func (w *world) consume(y yield) bool {
	if len(w.queue) == 0 {
		return true
	}
	var batch []entry
	for range 1 + w.rng.IntN(4) {
		batch = append(batch, w.queue[w.rng.IntN(len(w.queue))])
	}
	if !y(struct{}{}) {
		return false
	}
	top := map[string]entry{}
	for _, e := range batch {
		if t, ok := top[e.id]; !ok || e.ver > t.ver {
			top[e.id] = e
		}
	}
	if !w.apply(top) {
		return true
	}
	if !y(struct{}{}) {
		return false
	}
	for _, e := range batch {
		if i := slices.Index(w.queue, e); i >= 0 && w.rng.Float64() < .8 { // else the ack is lost
			w.queue = slices.Delete(w.queue, i, i+1)
		}
	}
	for id, e := range top {
		w.settle(id, e.ver)
	}
	return true
}

// apply is the batch's transaction; false when the guard refuses it.
func (w *world) apply(top map[string]entry) bool {
	d, total, log := delta{}, 0, maps.Clone(w.log)
	for id, e := range top {
		old, known := w.log[id]
		if known && old.ver >= e.ver {
			continue
		}
		if w.bug == CommandMerge {
			old.state = Unknown
		}
		from, to := effectOf(old.state, e.q), effectOf(e.state, e.q)
		d = delta{d.avail + to.avail - from.avail, d.locked + to.locked - from.locked, d.sold + to.sold - from.sold}
		if e.state == Fact {
			total += e.q
		}
		log[id] = e
	}
	if w.avail+d.avail < 0 {
		if w.truth() < 0 {
			w.settleShortage() // else releases are still under way: later
		}
		return false
	}
	w.total, w.avail, w.locked, w.sold, w.log = w.total+total, w.avail+d.avail, w.locked+d.locked, w.sold+d.sold, log
	if w.locked < 0 || w.sold < 0 || w.total != w.avail+w.locked+w.sold {
		w.fail("a stock row does not add up: total %d, available %d, locked %d, sold %d", w.total, w.avail, w.locked, w.sold)
	}
	return true
}
