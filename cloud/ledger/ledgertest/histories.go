package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func histories() []promise {
	return []promise{{"after any history, at every step, the sums are exact", randomHistories}}
}

// randomHistories walks orders, facts, rebuilds and batches in random order,
// with duplicates and delays, and asks brute force after every few steps. The
// seeds are fixed: a failure names its own.
func randomHistories(t *testing.T, f *Fixture) {
	for seed := range uint64(12) {
		h := &history{Fixture: f, rng: rand.New(rand.NewPCG(seed, 1)), name: fmt.Sprint("H", seed)}
		f.AddStock(h.name, map[string]int64{"cola": 8, "chips": 5})
		for step := range 60 {
			h.step()
			if step%6 == 5 {
				f.Invariants()
			}
		}
		f.settleAll()
		f.Invariants()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

type history struct {
	*Fixture
	rng  *rand.Rand
	name string
	ids  []string
	old  []statement.Message // sent before; the queue may deliver them again
}

func (h *history) step() {
	h.t.Helper()
	h.Pass(time.Duration(h.rng.IntN(3)) * time.Millisecond)
	switch h.rng.IntN(10) {
	case 0, 1, 2:
		h.placeOne()
	case 3, 4, 5:
		h.moveOne()
	case 6:
		h.recordOne()
	case 7:
		h.load(h.name)
	default:
		h.deliver()
	}
}

func (h *history) lines() []order.Line {
	out := []order.Line{line("cola", 1+h.rng.IntN(2))}
	if h.rng.IntN(2) == 0 {
		out = append([]order.Line{line("chips", 1)}, out...)
	}
	return out
}

// placeOne mostly asks the truth first, as Redis would; now and then it does
// not, as after a Redis that lost writes.
func (h *history) placeOne() {
	have, err := h.Sellable(h.ctx, h.name)
	h.ok(err)
	lines := h.lines()
	for _, l := range lines {
		if have[l.SKU] < int64(l.Qty) && h.rng.IntN(8) > 0 {
			return
		}
	}
	o := h.orderAt(h.name, lines...)
	h.ok(h.Place(h.ctx, h.placement(o)))
	h.ids = append(h.ids, o.ID)
}

func (h *history) moveOne() {
	if len(h.ids) == 0 {
		return
	}
	o := h.find(h.ids[h.rng.IntN(len(h.ids))])
	event := order.Events[1+h.rng.IntN(3)]
	if _, ok := order.Next(o.Status, event); ok {
		h.move(o.ID, event)
	}
}

func (h *history) recordOne() {
	states := []statement.State{statement.Sale, statement.Restock, statement.Restock}
	fact := h.factAt(h.name, states[h.rng.IntN(len(states))], wire.Line{SKU: "cola", Qty: 1 + h.rng.IntN(2)})
	h.ok(h.Record(h.ctx, fact))
}

// deliver applies some messages: waiting ones and old ones, in any order.
func (h *history) deliver() {
	all := append(h.messages(), h.old...)
	h.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(len(all), 1+h.rng.IntN(5))]
	if len(all) == 0 {
		return
	}
	h.old = append(h.old, all...)
	for _, s := range h.apply(all...).Waiting {
		for _, w := range s.Lines {
			h.ok(second(h.SettleShortage(h.ctx, s.Cabinet, w.SKU)))
		}
	}
}
