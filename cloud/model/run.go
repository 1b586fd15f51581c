package model

import (
	"fmt"
	"iter"
	"slices"
)

// op is an operation under way. Stopping it is its process dying.
type op struct {
	next func() (struct{}, bool)
	stop func()
}

func begin(f func(yield) bool) *op {
	next, stop := iter.Pull(func(y func(struct{}) bool) { f(y) })
	return &op{next, stop}
}

// drain runs an operation to its end.
func drain(f func(yield) bool) { f(func(struct{}) bool { return true }) }

// Run plays one random history of so many steps, lets all faults end, and says
// which promise is broken; nil when none is.
func Run(seed uint64, steps int, bug Bug) (Stats, error) {
	w := newWorld(seed, bug)
	kinds, lossy, sweeps := w.kinds(), w.rng.Float64() < .6, w.rng.Float64() < .8
	for range steps {
		w.step(kinds, lossy, sweeps)
		if w.err != nil {
			break
		}
	}
	w.crash()
	if w.err == nil {
		w.quiet()
		w.check(lossy)
	}
	if w.err != nil {
		return w.Stats, fmt.Errorf("seed %d: %w", seed, w.err)
	}
	return w.Stats, nil
}

// kinds are the operations of a history, as often as they are likely.
func (w *world) kinds() []func(yield) bool {
	var out []func(yield) bool
	for _, k := range []struct {
		f func(yield) bool
		n int
	}{
		{w.place, 6}, {w.giveBack, 3}, {w.pay, 2}, {w.retry, 2}, {w.relay, 4}, {w.effects, 4}, {w.consume, 5}, {w.reconcile, 3},
		{w.happen, 2 * w.rng.IntN(2)}, {w.fallback, w.rng.IntN(3) / 2},
	} {
		out = append(out, slices.Repeat([]func(yield) bool{k.f}, k.n)...)
	}
	return out
}

func (w *world) step(kinds []func(yield) bool, lossy, sweeps bool) {
	switch x := w.rng.Float64(); {
	case x < .35:
		w.ops = append(w.ops, begin(kinds[w.rng.IntN(len(kinds))]))
	case x < .93:
		if len(w.ops) > 0 {
			i := w.rng.IntN(len(w.ops))
			if _, more := w.ops[i].next(); !more {
				w.ops = slices.Delete(w.ops, i, i+1)
			}
		}
	case x < .94: // the service is killed, and starts again after the grace of any placement
		w.crash()
		if sweeps {
			drain(w.sweep)
		}
	case x < .955:
		w.snaps = append(w.snaps, w.redis.clone())
	case x < .965: // Redis comes back with an older dump
		if old := w.snaps[w.rng.IntN(len(w.snaps))]; lossy && w.lock == nil && old.token == w.token {
			w.redis, w.dirty = old.clone(), true
		}
	case x < .975: // … and somebody notices
		if w.dirty {
			if w.lock == nil {
				w.draw()
			}
			w.ops = append(w.ops, begin(w.rebuild))
		}
	}
}

// crash ends whatever is under way between two of its steps.
func (w *world) crash() {
	for _, o := range w.ops {
		o.stop()
	}
	w.ops, w.lock = nil, nil
}

// quiet lets everything that waits be carried out.
func (w *world) quiet() {
	if w.dirty || w.redis.token != w.token {
		drain(w.rebuild)
	}
	drain(w.sweep)
	for range 800 {
		if w.redis.token != w.token {
			drain(w.rebuild)
		}
		drain(w.relay)
		drain(w.effects)
		drain(w.consume)
		if len(w.outbox) == 0 && len(w.queue) == 0 {
			return
		}
	}
}

func (w *world) check(lossy bool) {
	switch {
	case len(w.outbox) > 0 || len(w.queue) > 0:
		w.fail("%d rows and %d messages never settle", len(w.outbox), len(w.queue))
	case w.avail != w.truth():
		w.fail("available is %d, the truth is %d", w.avail, w.truth())
	case w.redis.stock != w.avail:
		w.fail("Redis has %d, available is %d", w.redis.stock, w.avail)
	}
	drain(w.reconcile)
	if !w.soldOnItsOwn() {
		w.Oversold = w.Shortages
	}
	if !lossy && w.Oversold > 0 {
		w.fail("a shortage without any loss")
	}
}

func (w *world) soldOnItsOwn() bool {
	for _, n := range w.facts {
		if n < 0 {
			return true
		}
	}
	return false
}
