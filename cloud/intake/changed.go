package intake

import (
	"slices"
	"time"

	"vendline/shared/wire"
)

// movesStock reports whether a fact changes what its cabinet can sell.
func movesStock(f *wire.Fact) bool {
	switch f.Kind {
	case wire.FactRestock, wire.FactSale, wire.FactStocktake:
		return true
	case wire.FactDispense: // what did not drop can be sold again
		return slices.ContainsFunc(f.Dispense.Lines, func(l wire.DispenseLine) bool { return l.State != wire.Dispensed })
	}
	return false
}

// changed queues a cabinet's stock command. The first change is told at once,
// what follows within Timing.Stock in one command at its end.
func (b *births) changed(cabinet string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, calm := b.calm[cabinet]; calm {
		b.calm[cabinet] = true
		return
	}
	b.say(cabinet)
}

// say queues a stock command and begins a calm. b.mu is held.
func (b *births) say(cabinet string) {
	if b.closed {
		return
	}
	select {
	case b.due <- errand{cabinet: cabinet}:
	default: // its next change, or birth, is told
		return
	}
	b.calm[cabinet] = false
	time.AfterFunc(b.in.opt.Timing.Stock, func() { b.calmOver(cabinet) })
}

func (b *births) calmOver(cabinet string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	again := b.calm[cabinet]
	delete(b.calm, cabinet)
	if again {
		b.say(cabinet)
	}
}
