package ledgertest

import (
	"errors"
	"reflect"
	"sync"
	"testing"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func facts() []promise {
	return []promise{
		{"a fact is recorded once, however often it is sent", factOnce},
		{"another fact under the same id is refused", factConflict},
		{"a fact at no cabinet is refused and costs itself only", factNowhere},
		{"facts move stock: sale, restock, drift", factEffects},
		{"a restock makes the row of a product new to the cabinet", factNewProduct},
		{"a sale of a product without a row happened all the same", factSaleOfNothing},
	}
}

func factOnce(t *testing.T, f *Fixture) {
	fact := ledger.Fact{ID: f.ID(), Cabinet: cabinet, State: statement.Sale, Epoch: f.ID(), Seq: 7, Lines: []wire.Line{{SKU: "chips", Qty: 1}, {SKU: "cola", Qty: 2}}}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { f.ok(f.Record(f.ctx, fact)) })
	}
	wg.Wait()
	f.wantBacklog(outbox.KindStock, 1)
	f.wantBacklog(outbox.KindRedis, 1)
	adjust := f.effects()[0].Adjust
	if adjust == nil || adjust.ID != fact.ID || !reflect.DeepEqual([]int64{adjust.Deltas[0].Units, adjust.Deltas[1].Units}, []int64{-1, -2}) {
		t.Errorf("tells Redis %+v", adjust)
	}
	f.settleAll()
	f.wantStock("cola", 8, 0, 2)
}

func factConflict(t *testing.T, f *Fixture) {
	first := f.record(statement.Sale, wire.Line{SKU: "cola", Qty: 1})
	for _, change := range []func(*ledger.Fact){
		func(x *ledger.Fact) { x.Lines = []wire.Line{{SKU: "cola", Qty: 2}} },
		func(x *ledger.Fact) { x.Lines = append(x.Lines, wire.Line{SKU: "gum", Qty: 1}) },
		func(x *ledger.Fact) { x.Lines = []wire.Line{{SKU: "chips", Qty: 1}} },
		func(x *ledger.Fact) { x.State = statement.Restock },
	} {
		other := first
		change(&other)
		var refused *order.Refusal
		if err := f.Record(f.ctx, other); !errors.As(err, &refused) || refused.Code != wire.CodeIdempotencyConflict {
			t.Errorf("%+v: %v", other, err)
		}
	}
	f.settleAll()
	f.wantStock("cola", 9, 0, 1)
}

func factNowhere(t *testing.T, f *Fixture) {
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			fact := ledger.Fact{ID: f.ID(), Cabinet: cabinet, State: statement.Restock, Lines: []wire.Line{{SKU: "cola", Qty: 1}}}
			if i != 5 {
				f.ok(f.Record(f.ctx, fact))
				return
			}
			fact.Cabinet = "C404"
			var refused *order.Refusal
			if err := f.Record(f.ctx, fact); !errors.As(err, &refused) || refused.Code != wire.CodeCabinetUnknown {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	f.settleAll()
	f.wantStock("cola", 19, 0, 0)
}

func factEffects(t *testing.T, f *Fixture) {
	f.record(statement.Sale, wire.Line{SKU: "cola", Qty: 4})
	f.record(statement.Restock, wire.Line{SKU: "cola", Qty: 5})
	f.record(statement.Drift, wire.Line{SKU: "cola", Qty: 1})
	f.settleAll()
	f.wantStock("cola", 12, 0, 4)
	if r := f.stock("cola"); r.Total != 16 {
		t.Errorf("total %d, want 16", r.Total)
	}
}

func factNewProduct(t *testing.T, f *Fixture) {
	f.record(statement.Restock, wire.Line{SKU: "gum", Qty: 5})
	if got := f.load(cabinet).Sellable["gum"]; got != 5 {
		t.Errorf("sellable %d before step 8", got)
	}
	f.settleAll()
	f.place(line("gum", 2))
	f.settleAll()
	f.wantStock("gum", 3, 2, 0)
}

func factSaleOfNothing(t *testing.T, f *Fixture) {
	f.record(statement.Sale, wire.Line{SKU: "gum", Qty: 2})
	f.settleAll()
	f.wantStock("gum", 0, 0, 2)
	if n := f.count("SELECT COUNT(*) FROM dead_letter"); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}
