package ledgertest

import (
	"errors"
	"testing"

	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

func orphans() []promise {
	return []promise{
		{"a hold without an order becomes a rolled-back one, and the late insert fails", orphanInserted},
		{"a retry that died is outrun, and the late transition fails", orphanOutrun},
		{"a hold of another cabinet's id is given back, the order stands", orphanElsewhere},
		{"a hold whose order stands is left alone, and known once the log knows it", orphanStanding},
		{"a hold under a stale generation decides nothing", orphanStale},
		{"a hold whose ticket was drawn twice decides nothing", orphanDoubled},
		{"a hold without a ticket is settled all the same", orphanWithoutTicket},
		{"settling an orphan again is no error", orphanTwice},
	}
}

func (f *Fixture) hold(id string, version int64, r order.Run) orphan.Hold {
	return orphan.Hold{ID: id, Cabinet: cabinet, Held: true, Version: version, Run: r, User: "ann", Lines: []wire.Line{{SKU: "cola", Qty: 2}}, At: f.Now().UnixMilli()}
}

func (f *Fixture) settleOrphan(h orphan.Hold, want orphan.Outcome) {
	f.t.Helper()
	got, err := f.SettleOrphan(f.ctx, h)
	f.ok(err)
	if got != want {
		f.t.Errorf("outcome %d, want %d", got, want)
	}
}

func (f *Fixture) wantRelease(id string, version int64) {
	f.t.Helper()
	es := f.effects()
	if len(es) == 0 || es[len(es)-1].Release == nil || es[len(es)-1].Release.ID != id || es[len(es)-1].Release.Version != version {
		f.t.Errorf("effects %+v, want the release of %s at v%d", es, id, version)
	}
}

func orphanInserted(t *testing.T, f *Fixture) {
	p := f.placement(f.order(line("cola", 2)))
	f.settleOrphan(f.hold(p.Order.ID, 1, p.Run), orphan.Settled)
	f.wantRelease(p.Order.ID, 2)
	if err := f.Place(f.ctx, p); !errors.Is(err, order.ErrExists) || errors.Is(err, order.ErrSpare) {
		t.Errorf("the late insert: %v", err)
	}
	if o := f.find(p.Order.ID); !o.Orphan || o.Status != order.RolledBack || o.Version != 2 || !o.SameContent(p.Order) {
		t.Errorf("stands as %+v", o)
	}
	f.settleAll()
	f.wantStock("cola", 10, 0, 0)
}

func orphanOutrun(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 2))
	rolled := f.move(o.ID, order.Timeout)
	r := f.run(cabinet)
	f.settleOrphan(f.hold(o.ID, 3, r), orphan.Settled)
	f.wantRelease(o.ID, 4)
	var refused *order.StateError
	if err := f.retry(rolled, r); !errors.As(err, &refused) {
		t.Errorf("the late transition: %v", err)
	}
	f.settleAll()
	f.wantStock("cola", 10, 0, 0)
}

func orphanElsewhere(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 5})
	o := f.orderAt("C2", line("cola", 2))
	f.ok(f.Place(f.ctx, f.placement(o)))
	f.settleOrphan(f.hold(o.ID, 1, f.run(cabinet)), orphan.Settled)
	f.wantRelease(o.ID, 2)
	if got := f.find(o.ID); got.Status != order.PreReserved || got.Version != 1 {
		t.Errorf("stands at %s v%d", got.Status, got.Version)
	}
	f.settleAll()
}

func orphanStanding(_ *testing.T, f *Fixture) {
	p := f.placement(f.order(line("cola", 2)))
	f.ok(f.Place(f.ctx, p))
	f.settleOrphan(f.hold(p.Order.ID, 1, p.Run), orphan.Standing)
	f.settleAll()
	f.settleOrphan(f.hold(p.Order.ID, 1, p.Run), orphan.Known)
	f.move(p.Order.ID, order.Timeout)
	f.settleOrphan(f.hold(p.Order.ID, 1, p.Run), orphan.Standing)
	f.settleAll()
	f.wantBacklog(outbox.KindRedis, 1) // the rollback's own, no second one
}

func orphanStale(t *testing.T, f *Fixture) {
	r := f.run(cabinet)
	f.load(cabinet)
	if _, err := f.SettleOrphan(f.ctx, f.hold(f.ID(), 1, r)); !errors.Is(err, order.ErrStale) {
		t.Errorf("got %v", err)
	}
	f.wantNothing()
}

func orphanDoubled(t *testing.T, f *Fixture) {
	p := f.placement(f.order(line("cola", 1)))
	f.ok(f.Place(f.ctx, p))
	id := f.ID()
	if _, err := f.SettleOrphan(f.ctx, f.hold(id, 1, p.Run)); !errors.Is(err, order.ErrDoubled) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Find(f.ctx, id); !errors.Is(err, order.ErrUnknown) {
		t.Errorf("an order was left: %v", err)
	}
	f.settleAll()
}

func orphanWithoutTicket(_ *testing.T, f *Fixture) {
	for range 2 {
		f.settleOrphan(f.hold(f.ID(), 1, order.Run{Generation: f.gens[cabinet]}), orphan.Settled)
	}
	f.settleAll()
}

func orphanTwice(_ *testing.T, f *Fixture) {
	h := f.hold(f.ID(), 1, f.run(cabinet))
	f.settleOrphan(h, orphan.Settled)
	f.settleOrphan(h, orphan.Standing)
	f.settleAll()
	f.settleOrphan(h, orphan.Known)
}
