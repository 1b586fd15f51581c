package ledgertest

import (
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func shortages() []promise {
	return []promise{
		{"while a release is under way nobody loses", shortWaits},
		{"the newest unpaid holds lose", shortNewest},
		{"what nobody can lose is booked as drift", shortDrift},
		{"a shortage is settled once", shortOnce},
		{"a loser's other lines come back too", shortBasket},
	}
}

func shortWaits(t *testing.T, f *Fixture) {
	first := f.place(line("cola", 10))
	f.settleAll()
	f.move(first.ID, order.Timeout)
	f.exec("UPDATE local_msg SET kind = 'later' WHERE kind = 'stock'") // the release is on its way
	f.load(cabinet)
	second := f.place(line("cola", 4))
	if a := f.apply(f.messages()...); len(a.Waiting) != 1 {
		t.Errorf("got %+v", a)
	}
	f.exec("UPDATE local_msg SET kind = 'stock' WHERE kind = 'later'")
	got, err := f.SettleShortage(f.ctx, cabinet, "cola")
	f.ok(err)
	if got != nil {
		t.Errorf("settled %+v", got)
	}
	f.settleAll()
	f.wantStock("cola", 6, 4, 0)
	if f.find(second.ID).Status != order.PreReserved {
		t.Error("the second order lost its stock")
	}
}

func shortNewest(t *testing.T, f *Fixture) {
	paid := f.place(line("cola", 5))
	f.move(paid.ID, order.PaySuccess)
	oldest := f.oversell(line("cola", 3))
	middle := f.oversell(line("cola", 3))
	newest := f.oversell(line("cola", 2))
	got, err := f.SettleShortage(f.ctx, cabinet, "cola")
	f.ok(err)
	if got == nil || len(got.Losers) != 2 || got.Losers[0].ID != newest.ID || got.Losers[1].ID != middle.ID || got.Drift != 0 {
		t.Fatalf("settled %+v", got)
	}
	for id, want := range map[string]order.Status{paid.ID: order.Consumed, oldest.ID: order.PreReserved, middle.ID: order.RolledBack, newest.ID: order.RolledBack} {
		if o := f.find(id); o.Status != want {
			t.Errorf("%s stands at %s, want %s", id, o.Status, want)
		}
	}
	releases := 0
	for _, e := range f.effects() {
		if e.Release != nil {
			releases++
		}
	}
	if releases != 2 {
		t.Errorf("Redis hears of %d releases", releases)
	}
	f.settleAll()
	f.wantStock("cola", 2, 3, 5)
}

func shortDrift(t *testing.T, f *Fixture) {
	paid := f.place(line("cola", 9))
	f.move(paid.ID, order.PaySuccess)
	f.offer()
	f.settleAll()
	f.Pass(time.Second)
	f.record(statement.Sale, wire.Line{SKU: "cola", Qty: 3})
	got, err := f.SettleShortage(f.ctx, cabinet, "cola")
	f.ok(err)
	if got == nil || len(got.Losers) != 0 || got.Drift != 2 {
		t.Fatalf("settled %+v", got)
	}
	var adjusts int64
	for _, e := range f.effects() {
		if e.Adjust != nil {
			adjusts += e.Adjust.Deltas[0].Units
		}
	}
	if adjusts != -1 {
		t.Errorf("Redis hears of %d units, want -3 and +2", adjusts)
	}
	f.settleAll()
	f.wantStock("cola", 0, 0, 12)
}

func shortOnce(t *testing.T, f *Fixture) {
	f.place(line("cola", 9))
	f.oversell(line("cola", 2))
	f.ok(second(f.SettleShortage(f.ctx, cabinet, "cola")))
	again, err := f.SettleShortage(f.ctx, cabinet, "cola")
	f.ok(err)
	if again != nil {
		t.Errorf("settled again: %+v", again)
	}
	f.wantBacklog(outbox.KindRedis, 1)
	f.settleAll()
}

func second[A any](_ A, err error) error { return err }

func shortBasket(t *testing.T, f *Fixture) {
	f.place(line("cola", 9))
	f.oversell(line("chips", 4), line("cola", 2))
	f.ok(second(f.SettleShortage(f.ctx, cabinet, "cola")))
	f.settleAll()
	f.wantStock("chips", 10, 0, 0)
	f.wantStock("cola", 1, 9, 0)
}
