package pathtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/cloud/outbox"
	"vendline/cloud/relay"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// setting is what may happen in a history.
type setting struct {
	lossy  bool // Redis comes back empty, or with an older dump
	faults faults
}

// history is one seed's course of events.
type history struct {
	*site
	setting
	c     *customers
	rng   *rand.Rand
	p     *process
	other *process   // a second service over the same stores
	turn  sync.Mutex // held while the other one acts
	dumps []dump
	n     int      // orders and facts so far
	false []string // differences that reconciliation saw and that are none
}

// play plays a random history: customers, facts, a queue that loses, doubles
// and reorders, processes that die anywhere, another service that acts between
// any two of their steps. Then the faults end. It returns what is wrong once
// all is quiet.
func play(t *testing.T, seed uint64, set setting) []string {
	t.Helper()
	h := &history{site: newSite(t), setting: set, c: newCustomers(), rng: rand.New(rand.NewPCG(seed, 7))}
	h.site.faults = set.faults
	h.queue.lose = func() bool { return h.rng.IntN(12) == 0 }
	h.machine.result, h.machine.unsure = h.fate, func(wire.Line) bool { return h.rng.IntN(5) == 0 }
	h.other = h.start(nil)
	defer h.other.end()
	h.restart()
	for range 120 {
		h.step(h.p)
		if h.p.killed() {
			h.p.end()
			h.restart()
		}
	}
	h.queue.lose = nil
	h.p.end()
	if set.lossy {
		h.notice() // by its run id, or by reconciliation: not every loss meets a ticket
	}
	h.p = h.start(nil)
	defer h.p.end()
	h.p.quiet()
	return h.judge()
}

// restart starts a process that dies at some gate still to come, and between
// whose steps the other service may act.
func (h *history) restart() {
	left := h.rng.IntN(250)
	h.p = h.start(func(string, int) bool { left--; return left == 0 })
	h.p.meanwhile = func(point string) {
		// Not within a transaction of the one writer, nor beside the main road.
		if strings.HasSuffix(point, "load") || strings.HasSuffix(point, "settle") || !h.turn.TryLock() {
			return
		}
		defer h.turn.Unlock()
		switch h.rng.IntN(24) {
		case 3, 4, 5:
			h.compare(h.other, false)
		case 0, 1:
			h.step(h.other)
		case 2:
			h.notice()
			_ = h.other.fence.Rebuild(h.ctx, cabinet)
		}
	}
}

// notice fences the cabinet: somebody has seen what may be a loss.
func (h *history) notice() {
	h.ok(h.other.books.Draw(h.ctx, cabinet, h.generation()))
}

// judge adds to the verdict that without a loss of Redis nobody loses a hold,
// but to what the cabinet sold on its own.
func (h *history) judge() []string {
	h.t.Helper()
	wrong := append(h.p.verdict(h.c), h.false...)
	var sold int
	h.ok(h.db.QueryRowContext(h.ctx, "SELECT COUNT(*) FROM trade_fact WHERE kind = 'SALE'").Scan(&sold))
	if lost := h.lost(); lost > 0 && sold == 0 && !h.lossy {
		wrong = append(wrong, fmt.Sprintf("%d holds were lost to a shortage though Redis lost nothing", lost))
	}
	return wrong
}

func (h *history) step(p *process) {
	c := h.c
	switch x := h.rng.IntN(120); {
	case x < 22:
		h.n++
		c.place(p, fmt.Sprint("o", h.n), 1+h.rng.IntN(2), h.rng.IntN(2))
	case x < 28:
		c.again(p, h.some())
	case x < 36:
		c.pay(p, h.some())
	case x < 46:
		c.cancel(p, h.some())
	case x < 52:
		c.retry(p, h.some())
	case x < 56:
		h.n++
		c.fact(p, fmt.Sprint("f", h.n), statement.Restock, 1+h.rng.IntN(2), h.rng.IntN(2))
	case x < 58:
		h.n++
		c.fact(p, fmt.Sprint("f", h.n), statement.Sale, 1, 0)
	case x < 66:
		p.carry(outbox.KindStock)
	case x < 72:
		p.carry(outbox.KindRedis)
	case x < 74:
		p.carry(outbox.KindTimer)
	case x < 86:
		p.deliver(relay.DefaultTopics().Stock, h.rng)
	case x < 88:
		p.deliver(relay.DefaultTopics().Timer, h.rng)
	case x < 91:
		_ = p.sweeper.Sweep(p.ctx)
	case x < 92:
		_, _ = p.timers.Sweep(p.ctx)
	case x < 97:
		h.site.pass(time.Duration(1+h.rng.IntN(30)) * time.Second)
	case x < 98:
		h.dumps = append(h.dumps, h.dump())
	case x < 102:
		p.carry(outbox.KindCommand)
	case x < 106:
		p.ask()
	case x < 109:
		p.site.vend()
	case x < 113:
		p.tell()
	case x < 118:
		h.compare(p, x == 117)
	case h.lossy:
		h.loseRedis()
	}
}

// fate is what becomes of a line at the cabinet.
func (h *history) fate(l wire.Line) (wire.DispenseState, int) {
	switch h.rng.IntN(8) {
	case 0:
		return wire.Expired, 0
	case 1, 2:
		return wire.Failed, h.rng.IntN(l.Qty)
	}
	return wire.Dispensed, l.Qty
}

// loseRedis lets Redis come back with an older dump of its own, or with none.
func (h *history) loseRedis() {
	if len(h.dumps) == 0 || h.rng.IntN(4) == 0 {
		h.redis.FlushAll()
		return
	}
	h.restore(h.dumps[len(h.dumps)-1-h.rng.IntN(min(2, len(h.dumps)))])
}

func (h *history) some() string { return fmt.Sprint("o", 1+h.rng.IntN(h.n+1)) }

func seeds(t *testing.T) uint64 {
	t.Helper()
	if testing.Short() {
		return 20
	}
	return 50
}

func TestAnyHistoryEndsExact(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		t.Run(fmt.Sprint("Redis loses writes: ", lossy), func(t *testing.T) {
			t.Parallel()
			for seed := range seeds(t) {
				for _, w := range play(t, seed, setting{lossy: lossy}) {
					t.Errorf("seed %d: %s", seed, w)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}
