package ledgertest

import (
	"encoding/json"
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

func fallbacks() []promise {
	return []promise{
		{"fallback: an order, its outbox rows and a new token commit together", fallbackPlace},
		{"fallback: what step 8 has not seen counts", fallbackTruth},
		{"fallback: the same refusals as the fast way, and they leave nothing", fallbackRefusals},
		{"fallback: a replay meets its order, whatever the stock and limit are by now", fallbackReplay},
		{"fallback: what Redis took and did not commit does not count any more", fallbackVoids},
		{"fallback: a rebuild loads its orders as holds", fallbackRebuilt},
		{"fallback: a shopper's next order replaces his unpaid one", fallbackReplaces},
		{"fallback: a pending order is placed, once", fallbackAdmit},
		{"fallback: a pending order is refused like any", fallbackAdmitRefused},
		{"fallback: a rolled-back order is taken again under its next version", fallbackRetry},
		{"fallback: a retry is refused when the order moved on or the units are gone", fallbackRetryRefused},
		{"fallback: nobody oversells, and limits hold, whoever comes at once", fallbackCrowd},
		{"fallback: a service in synchronous mode owns the stock", fallbackDirect},
	}
}

func (f *Fixture) fallback(lines ...order.Line) order.Order {
	f.t.Helper()
	o := f.order(lines...)
	f.ok(f.PlaceFallback(f.ctx, o, items(o, 0)))
	return o
}

func fallbackPlace(t *testing.T, f *Fixture) {
	before := f.current(cabinet)
	o := f.fallback(line("chips", 1), line("cola", 2))
	if got := f.find(o.ID); !reflect.DeepEqual(got, o) {
		t.Errorf("found  %+v\nplaced %+v", got, o)
	}
	if f.current(cabinet) == before {
		t.Error("the token stands")
	}
	want := []statement.Statement{{ID: o.ID, Cabinet: cabinet, State: statement.PreReserved, Version: 1, Lines: []wire.Line{{SKU: "chips", Qty: 1}, {SKU: "cola", Qty: 2}}}}
	if got := f.messages(); len(got) != 1 || !reflect.DeepEqual(got[0].Statements, want) {
		t.Errorf("states %+v, want %+v", got, want)
	}
	var hint outbox.Timer
	timers := f.rows(outbox.KindTimer)
	f.ok(json.Unmarshal(timers[0].Payload, &hint))
	if len(timers) != 1 || hint.At != o.ExpiresAt.UnixMilli() || !reflect.DeepEqual(hint.IDs, []string{o.ID}) {
		t.Errorf("timer %+v", hint)
	}
	f.wantBacklog(outbox.KindRedis, 0)
	if fed := f.Fed(); len(fed) != 2 {
		t.Errorf("%d rows handed over at once, want both", len(fed))
	}
	if got := f.Changed(); len(got) != 1 || !reflect.DeepEqual(got[0], o) {
		t.Errorf("announced %+v", got)
	}
	f.settleAll()
	f.wantStock("cola", 8, 2, 0)
}

func fallbackTruth(t *testing.T, f *Fixture) {
	gone := f.place(line("cola", 3))
	f.settleAll()
	f.Pass(time.Minute)
	f.move(gone.ID, order.Timeout) // 3 back, unseen
	f.place(line("cola", 2))       // 2 held, unseen
	f.record(statement.Sale, wire.Line{SKU: "cola", Qty: 1})
	f.record(statement.Restock, wire.Line{SKU: "cola", Qty: 4}) // 11 are there
	o := f.order(line("cola", 12))
	no := f.refusal(f.PlaceFallback(f.ctx, o, items(o, 0)), wire.CodeStockShort)
	if want := []wire.Shortage{{SKU: "cola", Want: 12, Have: 11}}; !reflect.DeepEqual(no.Short, want) {
		t.Errorf("short %+v, want %+v", no.Short, want)
	}
	f.fallback(line("cola", 11))
	o = f.order(line("cola", 1))
	f.refusal(f.PlaceFallback(f.ctx, o, items(o, 0)), wire.CodeStockShort)
	f.settleAll()
	f.wantStock("cola", 0, 13, 1)
}

func fallbackRefusals(t *testing.T, f *Fixture) {
	before := f.current(cabinet)
	for _, c := range []struct {
		code  wire.Code
		limit int
		o     order.Order
		short []wire.Shortage
	}{
		{wire.CodeStockShort, 0, f.order(line("chips", 11), line("cola", 12)), []wire.Shortage{{SKU: "chips", Want: 11, Have: 10}, {SKU: "cola", Want: 12, Have: 10}}},
		{wire.CodeStockShort, 0, f.order(line("chips", 1), line("cola", 11)), []wire.Shortage{{SKU: "cola", Want: 11, Have: 10}}},
		{wire.CodeSKUUnknown, 0, f.order(line("cola", 1), line("gum", 1)), nil},
		{wire.CodeCabinetUnknown, 0, f.orderAt("C404", line("cola", 1)), nil},
		{wire.CodePurchaseLimit, 2, f.order(line("cola", 3)), nil},
	} {
		no := f.refusal(f.PlaceFallback(f.ctx, c.o, items(c.o, c.limit)), c.code)
		if !reflect.DeepEqual(no.Short, c.short) {
			t.Errorf("short %+v, want %+v", no.Short, c.short)
		}
	}
	f.wantNothing()
	if f.current(cabinet) != before {
		t.Error("a refusal drew a token")
	}
}

func fallbackReplay(t *testing.T, f *Fixture) {
	o := f.order(line("cola", 10))
	f.ok(f.PlaceFallback(f.ctx, o, items(o, 10)))
	before := f.current(cabinet)
	if err := f.PlaceFallback(f.ctx, o, items(o, 10)); !errors.Is(err, order.ErrExists) {
		t.Errorf("got %v", err)
	}
	fast := f.order(line("chips", 10))
	p := f.placement(fast)
	p.Run.Generation = before
	f.ok(f.Place(f.ctx, p))
	if err := f.PlaceFallback(f.ctx, fast, items(fast, 1)); !errors.Is(err, order.ErrExists) {
		t.Errorf("placed through Redis before: %v", err)
	}
	if f.current(cabinet) != before {
		t.Error("a replay drew a token")
	}
	f.settleAll()
}

func fallbackVoids(t *testing.T, f *Fixture) {
	late := f.placement(f.order(line("cola", 10))) // Redis said yes, then went away
	f.fallback(line("cola", 10))
	if err := f.Place(f.ctx, late); !errors.Is(err, order.ErrStale) {
		t.Errorf("the late placement: %v", err)
	}
	// Its own way may have been the one that got no answer.
	o := f.order(line("chips", 10))
	p := f.placement(o)
	f.ok(f.PlaceFallback(f.ctx, o, items(o, 0)))
	if err := f.Place(f.ctx, p); err == nil {
		t.Error("one basket was taken twice")
	}
	f.settleAll()
	f.wantStock("chips", 0, 10, 0)
}

func fallbackRebuilt(t *testing.T, f *Fixture) {
	o := f.fallback(line("cola", 3))
	s := f.load(cabinet)
	if want := map[string]int64{"cola": 7, "chips": 10}; !Same(s.Sellable, want) {
		t.Errorf("sellable %v, want %v", s.Sellable, want)
	}
	if len(s.Marks) != 1 || s.Marks[0].ID != o.ID || !s.Marks[0].Held || !s.Marks[0].Unknown || !s.Marks[0].Limited || s.Marks[0].Version != 1 {
		t.Errorf("marks %+v", s.Marks)
	}
	f.place(line("cola", 7)) // the fast way goes on
	f.settleAll()
	f.wantStock("cola", 0, 10, 0)
}

func fallbackReplaces(t *testing.T, f *Fixture) {
	l := f.Open(func(o *ledger.Options) { o.Holds = 5 })
	first := f.order(line("cola", 1))
	f.ok(l.PlaceFallback(f.ctx, first, items(first, 0)))
	f.Pass(time.Second)
	next := f.order(line("cola", 1))
	f.ok(l.PlaceFallback(f.ctx, next, items(next, 0)))
	rows := f.rows(outbox.KindReplace)
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	var what outbox.Replace
	f.ok(json.Unmarshal(rows[0].Payload, &what))
	if !reflect.DeepEqual(what.IDs, []string{first.ID}) {
		t.Errorf("gives way: %v", what.IDs)
	}
	f.settleAll()
}

func fallbackAdmit(t *testing.T, f *Fixture) {
	o := f.pending(cabinet, "https://shop.example/told", line("cola", 2))
	f.ok(f.TakeIn(f.ctx, &o))
	before := f.current(cabinet)
	f.Pass(time.Second)
	f.ok(f.AdmitFallback(f.ctx, o, items(o, 2)))
	got := f.find(o.ID)
	if got.Status != order.PreReserved || got.Version != 1 || got.Intent.Status != order.IntentPlaced || !got.HoldUntil.Equal(f.Now().Add(15*time.Minute)) || !got.ExpiresAt.Equal(got.HoldUntil) {
		t.Errorf("stands %+v %+v", got, got.Intent)
	}
	f.wantBacklog(outbox.KindCallback, 1)
	f.wantBacklog(outbox.KindTimer, 1)
	if f.current(cabinet) == before {
		t.Error("the token stands")
	}
	var state *order.StateError
	if err := f.AdmitFallback(f.ctx, o, items(o, 2)); !errors.As(err, &state) {
		t.Errorf("again: %v", err)
	}
	f.settleAll()
	f.wantStock("cola", 8, 2, 0)
}

func fallbackAdmitRefused(t *testing.T, f *Fixture) {
	o := f.takeIn(line("cola", 2))
	f.refusal(f.AdmitFallback(f.ctx, o, items(o, 1)), wire.CodePurchaseLimit)
	f.fallback(line("cola", 9))
	f.refusal(f.AdmitFallback(f.ctx, o, items(o, 0)), wire.CodeStockShort)
	f.wantPending(o)
	f.ok(f.refuse(o, wire.CodeStockShort))
	var state *order.StateError
	if err := f.AdmitFallback(f.ctx, o, items(o, 0)); !errors.As(err, &state) {
		t.Errorf("refused already: %v", err)
	}
	f.settleAll()
}

func fallbackRetry(t *testing.T, f *Fixture) {
	o := f.fallback(line("cola", 10))
	f.move(o.ID, order.Timeout)
	before := f.current(cabinet)
	f.Pass(time.Second)
	after, err := f.RetryFallback(f.ctx, f.find(o.ID), items(o, 10))
	f.ok(err)
	if got := f.find(o.ID); !reflect.DeepEqual(got, after) || got.Status != order.PreReserved || got.Version != 3 || !got.HoldUntil.Equal(f.Now().Add(15*time.Minute)) {
		t.Errorf("stands %+v, answered %+v", got, after)
	}
	if f.current(cabinet) == before {
		t.Error("the token stands")
	}
	f.settleAll()
	f.wantStock("cola", 0, 10, 0)
}

func fallbackRetryRefused(t *testing.T, f *Fixture) {
	o := f.fallback(line("cola", 6))
	f.move(o.ID, order.Timeout)
	rolled := f.find(o.ID)
	f.fallback(line("cola", 5))
	_, err := f.RetryFallback(f.ctx, rolled, items(o, 0))
	f.refusal(err, wire.CodeStockShort)
	f.record(statement.Restock, wire.Line{SKU: "cola", Qty: 1})
	_, err = f.RetryFallback(f.ctx, rolled, items(o, 5))
	f.refusal(err, wire.CodePurchaseLimit)
	_, err = f.RetryFallback(f.ctx, rolled, items(o, 0))
	f.ok(err)
	var state *order.StateError
	if _, err := f.RetryFallback(f.ctx, rolled, items(o, 0)); !errors.As(err, &state) {
		t.Errorf("again: %v", err)
	}
	f.settleAll()
	f.wantStock("cola", 0, 11, 0)
}

// fallbackCrowd: half go by the ledger, half through a Redis that still answers
// to them, which a token drawn meanwhile sends away.
func fallbackCrowd(t *testing.T, f *Fixture) {
	l := f.Open(nil)
	var wg sync.WaitGroup
	outcome := make([]error, 60)
	orders := make([]order.Order, len(outcome))
	for i := range outcome {
		o := f.order(line("chips", 1), line("cola", 1))
		o.User = fmt.Sprint("u", i%4)
		orders[i] = o
		if i%3 == 2 {
			p := f.placement(o)
			o.User = "fast"
			orders[i], p.Order = o, o
			if i > 30 { // nine would be there for Redis alone; two, after the ledger's eight
				continue
			}
			wg.Go(func() { outcome[i] = l.Place(f.ctx, p) })
			continue
		}
		wg.Go(func() { outcome[i] = l.PlaceFallback(f.ctx, o, items(o, 2)) })
	}
	wg.Wait()
	placed, units := map[string]int{}, 0
	for i, err := range outcome {
		var no *order.Refusal
		switch {
		case i%3 == 2 && i > 30:
		case err == nil:
			placed[orders[i].User]++
			units++
		case orders[i].User == "fast" && errors.Is(err, order.ErrStale):
		case !errors.As(err, &no) || no.Code != wire.CodePurchaseLimit && no.Code != wire.CodeStockShort:
			t.Error(err)
		}
	}
	for user, n := range placed {
		if user != "fast" && n > 2 {
			t.Errorf("%s got %d units, the limit is 2", user, n)
		}
	}
	f.settleAll()
	if r := f.stock("cola"); r.Locked != int64(units) || units > 10 {
		t.Errorf("%d units were promised, %d are held, of 10", units, r.Locked)
	}
	if n := f.count("SELECT COUNT(*) FROM trade_order WHERE cause = 'stock short'"); n != 0 {
		t.Errorf("%d orders lost what they were promised", n)
	}
}

func fallbackDirect(t *testing.T, f *Fixture) {
	f.direct()
	o := f.order(line("cola", 1))
	f.refusal(f.PlaceFallback(f.ctx, o, items(o, 0)), wire.CodeFenced)
	f.wantNothing()
}
