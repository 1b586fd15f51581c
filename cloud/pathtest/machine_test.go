package pathtest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"vendline/cloud/ledger"
	"vendline/shared/wire"
)

// machine is the cabinet's half of vending: it outlives every process of the
// cloud, vends each command once, and says what became of it until it is heard.
type machine struct {
	off    bool                                        // it neither asks nor speaks
	result func(l wire.Line) (wire.DispenseState, int) // nil: everything drops
	unsure func(l wire.Line) bool                      // first it cannot tell; nil: it always can
	mu     sync.Mutex
	ready  map[string]wire.Vend
	known  map[string]bool
	unsaid []said
	seq    int64
	epoch  string
}

// said is a report with its place in the outbox.
type said struct {
	fact ledger.Fact
	what wire.Dispense
}

// ask asks a process what there is to vend. What it answers may be lost with it.
func (p *process) ask() {
	m := &p.site.machine
	if m.off {
		return
	}
	vends, err := p.ports.OpenCommands(p.ctx, cabinet)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range vends {
		if !m.known[v.ID] {
			if m.known == nil {
				m.known, m.ready, m.epoch = map[string]bool{}, map[string]wire.Vend{}, p.id()
			}
			m.known[v.ID], m.ready[v.ID] = true, v
		}
	}
}

// vend carries out what the machine has heard of.
func (s *site) vend() {
	m := &s.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.ready)) {
		v := m.ready[id]
		delete(m.ready, id)
		unsure, sure := wire.Dispense{Command: v.ID, Order: v.Order}, wire.Dispense{Command: v.ID, Order: v.Order}
		for _, l := range v.Lines {
			state, n := wire.Dispensed, l.Qty
			if m.result != nil {
				state, n = m.result(l)
			}
			sure.Lines = append(sure.Lines, wire.DispenseLine{SKU: l.SKU, State: state, Units: n})
			if m.unsure != nil && state != wire.Expired && m.unsure(l) {
				unsure.Lines = append(unsure.Lines, wire.DispenseLine{SKU: l.SKU, State: wire.Uncertain})
			}
		}
		for _, d := range []wire.Dispense{unsure, sure} {
			if len(d.Lines) > 0 {
				m.seq++
				m.unsaid = append(m.unsaid, said{ledger.Fact{ID: s.id(), Cabinet: cabinet, State: ledger.Dispense, Epoch: m.epoch, Seq: m.seq,
					Cause: "cabinet", Body: wire.Encode(d)}, d})
			}
		}
	}
}

// tell has the machine say what it did. What is not answered it says again.
func (p *process) tell() {
	m := &p.site.machine
	m.mu.Lock()
	all := slices.Clone(m.unsaid)
	off := m.off
	m.mu.Unlock()
	for _, s := range all {
		if off || p.ports.RecordDispense(p.ctx, s.fact, s.what) != nil {
			continue
		}
		m.mu.Lock()
		m.unsaid = slices.DeleteFunc(m.unsaid, func(x said) bool { return x.fact.ID == s.fact.ID })
		m.mu.Unlock()
	}
}

// turn is all that the machine does in a while.
func (p *process) turn() {
	p.ask()
	p.site.vend()
	p.tell()
}

// Wake is heard by a machine that is on.
func (w wakePort) Wake(string) {
	_ = pass(w.p, "wake", func() error { return nil })
}

// wakePort is the way to the machine, as a mortal process has it.
type wakePort struct{ p *process }

func (l ledgerPort) OpenCommands(ctx context.Context, c string) ([]wire.Vend, error) {
	return through(l.p, "offer", func() ([]wire.Vend, error) { return l.Ledger.OpenCommands(ctx, c) })
}

func (l ledgerPort) RecordDispense(ctx context.Context, f ledger.Fact, d wire.Dispense) error {
	return pass(l.p, "report commit", func() error { return l.Ledger.RecordDispense(ctx, f, d) })
}

func (l ledgerPort) AbandonCommand(ctx context.Context, id string, before time.Time) error {
	return pass(l.p, "abandon", func() error { return l.Ledger.AbandonCommand(ctx, id, before) })
}
