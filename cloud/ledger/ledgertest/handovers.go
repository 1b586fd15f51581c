package ledgertest

import (
	"context"
	"errors"
	"testing"

	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func handovers() []promise {
	return []promise{
		{"sync after async: what step 8 has not seen is not sold again", syncAfterAsync},
		{"sync after async: the old service's placements are refused", oldAsyncRefused},
		{"async after sync: Redis is loaded anew, and exact", asyncAfterSync},
		{"async after sync: the old service is refused, in all it does", oldSyncRefused},
		{"of two services in sync mode the later one owns the stock", twoSync},
	}
}

func syncAfterAsync(t *testing.T, f *Fixture) {
	held := f.place(line("cola", 7))
	l := f.direct()
	o := f.order(line("cola", 4))
	no := f.refusal(l.PlaceSync(f.ctx, o, items(o, 0)), wire.CodeStockShort)
	if len(no.Short) != 1 || no.Short[0].Have != 3 {
		t.Errorf("short %+v, want 3 of 4", no.Short)
	}
	fits := f.order(line("cola", 3))
	f.ok(l.PlaceSync(f.ctx, fits, items(fits, 0)))
	f.ok(l.Transition(f.ctx, &order.Change{ID: held.ID, Event: order.Timeout}))
	f.ok(l.PlaceSync(f.ctx, o, items(o, 0)))
	f.settleAll() // rows that the old service left behind
	f.wantStock("cola", 3, 7, 0)
}

func oldAsyncRefused(t *testing.T, f *Fixture) {
	p := f.placement(f.order(line("cola", 1)))
	f.direct()
	if err := f.Place(f.ctx, p); !errors.Is(err, order.ErrStale) {
		t.Errorf("placed under a stock that is another's: %v", err)
	}
	err := f.Rebuild(f.ctx, cabinet, stale, func(context.Context, fence.Snapshot) error { return nil })
	f.refusal(err, wire.CodeFenced)
	f.wantNothing()
}

func asyncAfterSync(t *testing.T, f *Fixture) {
	l := f.direct()
	o := f.order(line("cola", 4))
	f.ok(l.PlaceSync(f.ctx, o, items(o, 0)))
	f.Ledger = f.Open(nil)
	s := f.load(cabinet)
	if s.Sellable["cola"] != 6 || len(s.Marks) != 1 || !s.Marks[0].Held || s.Marks[0].Unknown {
		t.Errorf("snapshot %+v", s)
	}
	f.place(line("cola", 6))
	f.move(o.ID, order.PaySuccess)
	f.settleAll()
	f.wantStock("cola", 0, 6, 4)
}

func oldSyncRefused(t *testing.T, f *Fixture) {
	l := f.direct()
	held := f.order(line("cola", 4))
	f.ok(l.PlaceSync(f.ctx, held, items(held, 0)))
	f.Ledger = f.Open(nil)
	f.load(cabinet)
	o := f.order(line("cola", 1))
	f.refusal(l.PlaceSync(f.ctx, o, items(o, 0)), wire.CodeFenced)
	// Redis would never hear of these.
	f.refusal(l.Transition(f.ctx, &order.Change{ID: held.ID, Event: order.Timeout}), wire.CodeFenced)
	f.refusal(l.Record(f.ctx, f.factAt(cabinet, statement.Restock, wire.Line{SKU: "cola", Qty: 1})), wire.CodeFenced)
	f.wantBacklog(outbox.KindStock, 0)
	f.wantStock("cola", 6, 4, 0)
}

func twoSync(t *testing.T, f *Fixture) {
	first, second := f.direct(), f.direct()
	o := f.order(line("cola", 1))
	f.refusal(first.PlaceSync(f.ctx, o, items(o, 0)), wire.CodeFenced)
	f.ok(second.PlaceSync(f.ctx, o, items(o, 0)))
}
