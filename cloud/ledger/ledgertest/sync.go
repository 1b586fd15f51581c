package ledgertest

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func synchronous() []promise {
	return []promise{
		{"sync: an order, its lines and its stock are one transaction", syncPlace},
		{"sync: the same refusals as the fast way", syncRefusals},
		{"sync: a replay meets its order, whatever the stock and limit are by now", syncReplay},
		{"sync: transitions move stock in their own transaction", syncMoves},
		{"sync: facts move stock, and a shortage is settled in the fact's transaction", syncFacts},
		{"sync: nobody oversells, and limits hold, whoever comes at once", syncCrowd},
	}
}

// direct opens a service in synchronous mode over the fixture's database.
func (f *Fixture) direct() *ledger.Ledger {
	return f.Open(func(o *ledger.Options) { o.Direct = true })
}

// items are an order's, with a limit on each SKU.
func items(o order.Order, limit int) []order.Item {
	var out []order.Item
	for _, l := range o.Lines {
		out = append(out, order.Item{SKU: l.SKU, Qty: l.Qty, Limit: limit})
	}
	return out
}

func syncPlace(t *testing.T, f *Fixture) {
	l := f.direct()
	o := f.order(line("chips", 1), line("cola", 2))
	f.ok(l.PlaceSync(f.ctx, o, items(o, 0)))
	if got := f.find(o.ID); !reflect.DeepEqual(got, o) {
		t.Errorf("found %+v, placed %+v", got, o)
	}
	f.wantStock("cola", 8, 2, 0)
	f.wantStock("chips", 9, 1, 0)
	if n := f.count("SELECT COUNT(*) FROM local_msg"); n != 0 {
		t.Errorf("%d outbox rows", n)
	}
}

func syncRefusals(t *testing.T, f *Fixture) {
	l := f.direct()
	for _, c := range []struct {
		code  wire.Code
		limit int
		o     order.Order
	}{
		{wire.CodeStockShort, 0, f.order(line("chips", 11), line("cola", 11))},
		{wire.CodeStockShort, 0, f.order(line("chips", 1), line("cola", 11))},
		{wire.CodeSKUUnknown, 0, f.order(line("cola", 1), line("gum", 1))},
		{wire.CodeCabinetUnknown, 0, f.orderAt("C404", line("cola", 1))},
		{wire.CodePurchaseLimit, 2, f.order(line("cola", 3))},
	} {
		no := f.refusal(l.PlaceSync(f.ctx, c.o, items(c.o, c.limit)), c.code)
		if c.code == wire.CodeStockShort {
			want := []wire.Shortage{{SKU: "cola", Want: 11, Have: 10}}
			if c.o.Lines[0].Qty == 11 {
				want = append([]wire.Shortage{{SKU: "chips", Want: 11, Have: 10}}, want...)
			}
			if !reflect.DeepEqual(no.Short, want) {
				t.Errorf("short %+v, want %+v", no.Short, want)
			}
		}
	}
	f.wantNothing()
	f.wantStock("cola", 10, 0, 0)
}

func syncReplay(t *testing.T, f *Fixture) {
	l := f.direct()
	o := f.order(line("cola", 10))
	f.ok(l.PlaceSync(f.ctx, o, items(o, 10)))
	if err := l.PlaceSync(f.ctx, o, items(o, 10)); !errors.Is(err, order.ErrExists) {
		t.Errorf("held: %v", err)
	}
	f.ok(l.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.Timeout}))
	other := f.order(line("cola", 10))
	f.ok(l.PlaceSync(f.ctx, other, items(other, 10)))
	if err := l.PlaceSync(f.ctx, o, items(o, 10)); !errors.Is(err, order.ErrExists) {
		t.Errorf("rolled back: %v", err)
	}
	f.wantStock("cola", 0, 10, 0)
}

func syncMoves(t *testing.T, f *Fixture) {
	l := f.direct()
	o := f.order(line("cola", 2))
	f.ok(l.PlaceSync(f.ctx, o, items(o, 0)))
	for _, step := range []struct {
		event                   order.Event
		available, locked, sold int64
	}{{order.Timeout, 10, 0, 0}, {order.RetryDeduct, 8, 2, 0}, {order.PaySuccess, 8, 0, 2}} {
		f.ok(l.Transition(f.ctx, &order.Change{ID: o.ID, Event: step.event}))
		f.wantStock("cola", step.available, step.locked, step.sold)
	}
	f.wantBacklog(outbox.KindStock, 0)
	f.wantBacklog(outbox.KindRedis, 0)
}

func syncFacts(t *testing.T, f *Fixture) {
	l := f.direct()
	held := f.order(line("cola", 8))
	f.ok(l.PlaceSync(f.ctx, held, items(held, 0)))
	sale := f.factAt(cabinet, statement.Sale, wire.Line{SKU: "cola", Qty: 4})
	f.ok(l.Record(f.ctx, sale))
	f.ok(l.Record(f.ctx, sale))
	if o := f.find(held.ID); o.Status != order.RolledBack {
		t.Errorf("the hold that can no longer be met stands at %s", o.Status)
	}
	f.wantStock("cola", 6, 0, 4)
	f.ok(l.Record(f.ctx, f.factAt(cabinet, statement.Sale, wire.Line{SKU: "cola", Qty: 9})))
	f.wantStock("cola", 0, 0, 13)
	f.ok(l.Record(f.ctx, f.factAt(cabinet, statement.Restock, wire.Line{SKU: "gum", Qty: 3})))
	f.wantStock("gum", 3, 0, 0)
	f.wantBacklog(outbox.KindStock, 0)
	f.wantBacklog(outbox.KindRedis, 0)
}

func syncCrowd(t *testing.T, f *Fixture) {
	l := f.direct()
	var wg sync.WaitGroup
	outcome := make([]error, 40)
	orders := make([]order.Order, 40)
	for i := range outcome {
		o := f.order(line("chips", 1), line("cola", 1))
		o.User = fmt.Sprint("u", i%4)
		orders[i] = o
		wg.Go(func() { outcome[i] = l.PlaceSync(f.ctx, o, items(o, 2)) })
	}
	wg.Wait()
	placed := map[string]int{}
	for i, err := range outcome {
		var no *order.Refusal
		if err == nil {
			placed[orders[i].User]++
		} else if !errors.As(err, &no) || no.Code != wire.CodePurchaseLimit && no.Code != wire.CodeStockShort {
			t.Error(err)
		}
	}
	for user, n := range placed {
		if n != 2 {
			t.Errorf("%s got %d units, the limit is 2", user, n)
		}
	}
	f.wantStock("cola", 2, 8, 0)
	f.Pass(25 * time.Hour)
	again := f.order(line("cola", 2))
	again.User = "u0"
	f.ok(l.PlaceSync(f.ctx, again, items(again, 2)))
}
