package ledgertest

import (
	"errors"
	"testing"

	"vendline/cloud/effect"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func effects() []promise {
	return []promise{
		{"effects that ran under the current generation count, and their row goes", finishCounts},
		{"effects that ran under a stale generation do not count", finishStale},
		{"an effect whose ticket was drawn twice does not count, nor does its row's company", finishDoubled},
		{"finishing again is no error", finishTwice},
	}
}

// factRow records a fact and returns its effect row.
func (f *Fixture) factRow() (fact string, row string) {
	f.t.Helper()
	fact = f.record(statement.Restock, wire.Line{SKU: "cola", Qty: 1}).ID
	rows := f.rows(outbox.KindRedis)
	return fact, rows[len(rows)-1].ID
}

func (f *Fixture) ran(id string, r order.Run) effect.Ran {
	return effect.Ran{Cabinet: cabinet, ID: id, Run: r}
}

func finishCounts(t *testing.T, f *Fixture) {
	fact, row := f.factRow()
	r := f.run(cabinet)
	f.ok(f.FinishEffects(f.ctx, row, []effect.Ran{f.ran(fact, r), f.ran(f.ID(), order.Run{Generation: r.Generation})}))
	f.wantBacklog(outbox.KindRedis, 0)
	if n := f.count("SELECT COUNT(*) FROM trade_stock_ticket WHERE owner = ?", fact); n != 1 {
		t.Errorf("%d tickets", n)
	}
	f.settleAll()
}

func finishStale(t *testing.T, f *Fixture) {
	fact, row := f.factRow()
	before := f.run(cabinet)
	f.load(cabinet)
	var stale *effect.StaleError
	if err := f.FinishEffects(f.ctx, row, []effect.Ran{f.ran(fact, before)}); !errors.As(err, &stale) || stale.Cabinets[0] != cabinet || len(stale.Doubled) != 0 {
		t.Errorf("got %v", err)
	}
	f.wantBacklog(outbox.KindRedis, 1)
	f.ok(f.FinishEffects(f.ctx, row, []effect.Ran{f.ran(fact, order.Run{Generation: f.gens[cabinet]})}))
	f.settleAll()
}

func finishDoubled(t *testing.T, f *Fixture) {
	fact, row := f.factRow()
	p := f.placement(f.order(line("cola", 1)))
	f.ok(f.Place(f.ctx, p))
	other := f.run(cabinet)
	var stale *effect.StaleError
	if err := f.FinishEffects(f.ctx, row, []effect.Ran{f.ran(f.ID(), other), f.ran(fact, p.Run)}); !errors.As(err, &stale) || len(stale.Doubled) != 1 || stale.Doubled[0].ID != fact {
		t.Errorf("got %v", err)
	}
	f.wantBacklog(outbox.KindRedis, 1)
	if n := f.count("SELECT COUNT(*) FROM trade_stock_ticket WHERE ticket = ?", other.Ticket); n != 0 {
		t.Error("the company's ticket was recorded though its row stays")
	}
	f.settleAll()
}

func finishTwice(_ *testing.T, f *Fixture) {
	fact, row := f.factRow()
	r := f.run(cabinet)
	for range 3 {
		f.ok(f.FinishEffects(f.ctx, row, []effect.Ran{f.ran(fact, r)}))
	}
	f.settleAll()
}
