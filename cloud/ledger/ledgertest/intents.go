package ledgertest

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

func intents() []promise {
	return []promise{
		{"an order that is taken in is durable and takes no stock", intentTaken},
		{"those who are taken in together share a transaction and a row", intentGroup},
		{"an id is taken in once, whoever has it", intentOnce},
		{"a cabinet or SKU that is not there is refused at once, and costs itself only", intentUnknown},
		{"a pending order is placed as if it had been placed at once", intentPlaced},
		{"a placement counts only under the current generation and its own ticket", intentCounts},
		{"a refused order is never placed, and Redis hears so", intentRefused},
		{"placed or refused, never both", intentRace},
		{"whoever wants to hear of the outcome gets a row in the transaction that decides", intentCallback},
		{"a rebuilt Redis knows nothing of a pending order, and that a refused one is released", intentSnapshot},
		{"the sweep leaves the hold of a pending order, and gives that of a refused one back", intentOrphan},
		{"stock that was taken at once for a pending order is that order's", intentSpare},
		{"placing in the peak-shaving way replaces the shopper's hold, too", intentReplaces},
		{"sync: a pending order is placed in one transaction, under the same refusals", intentSync},
		{"sync: a refusal tells no Redis", intentSyncRefused},
	}
}

// pending drafts an order as the service would take it in.
func (f *Fixture) pending(c, callback string, lines ...order.Line) order.Order {
	o := f.orderAt(c, lines...)
	by := f.Now().Add(2 * time.Minute)
	o.Status, o.Version, o.ExpiresAt, o.HoldUntil = order.Init, 0, by, time.Time{}
	o.Intent = &order.Intent{Status: order.IntentPending, Callback: callback, DecideBy: by, ChangedAt: f.Now()}
	return o
}

func (f *Fixture) takeIn(lines ...order.Line) order.Order {
	f.t.Helper()
	o := f.pending(cabinet, "", lines...)
	f.ok(f.TakeIn(f.ctx, &o))
	return o
}

func (f *Fixture) admit(o order.Order, r order.Run) error {
	return f.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.PreDeduct, Cause: "placed", Run: r})
}

func (f *Fixture) refuse(o order.Order, code wire.Code) error {
	return f.Refuse(f.ctx, &order.Refused{ID: o.ID, Code: code, Detail: "because"})
}

func (f *Fixture) wantPending(want ...order.Order) {
	f.t.Helper()
	var ids []string
	for _, o := range want {
		ids = append(ids, o.ID)
	}
	found, err := f.Pending(f.ctx, ids...)
	f.ok(err)
	if len(found) != len(want) {
		f.t.Errorf("%d of %d are pending", len(found), len(want))
	}
	if n := f.count("SELECT COUNT(*) FROM trade_intent WHERE status = 'pending'"); n != int64(len(want)) {
		f.t.Errorf("%d intents are pending, want %d", n, len(want))
	}
}

func intentTaken(t *testing.T, f *Fixture) {
	o := f.takeIn(line("chips", 1), line("cola", 2))
	if got := f.find(o.ID); !reflect.DeepEqual(got, o) {
		t.Errorf("found %+v %+v\ntaken in %+v %+v", got, got.Intent, o, o.Intent)
	}
	f.wantPending(o)
	f.wantBacklog(outbox.KindIntent, 1)
	f.wantBacklog(outbox.KindStock, 0)
	f.wantBacklog(outbox.KindTimer, 0)
	if fed := f.Fed(); len(fed) != 1 || fed[0].Kind != outbox.KindIntent {
		t.Errorf("handed over %+v", fed)
	}
	h, err := f.History(f.ctx, o.ID)
	f.ok(err)
	if len(h) != 1 || h[0].Kind != order.EntryIntent || h[0].State != "pending" {
		t.Errorf("history %+v", h)
	}
	f.Pass(time.Hour)
	if ids, err := f.Overdue(f.ctx, f.Now(), 10); err != nil || len(ids) > 0 {
		t.Errorf("overdue %v, %v", ids, err)
	}
	if n, used, err := f.CountIntents(f.ctx); err != nil || n != 1 || !used {
		t.Errorf("%d wait, used %v, %v", n, used, err)
	}
	f.wantStock("cola", 10, 0, 0)
}

func intentGroup(t *testing.T, f *Fixture) {
	l := f.Open(nil)
	const n = 300
	begin := make(chan struct{})
	var wg sync.WaitGroup
	os := make([]order.Order, n)
	for i := range os {
		os[i] = f.pending(cabinet, "", line("cola", 1))
		wg.Go(func() {
			<-begin
			if err := l.TakeIn(f.ctx, &os[i]); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	wg.Wait()
	rows := f.rows(outbox.KindIntent)
	if len(rows) > n/3 {
		t.Errorf("%d orders have %d rows", n, len(rows))
	}
	var ids []string
	for _, r := range rows {
		var what outbox.Intents
		f.ok(json.Unmarshal(r.Payload, &what))
		if len(what.IDs) > 150 {
			t.Errorf("a row names %d orders", len(what.IDs))
		}
		ids = append(ids, what.IDs...)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != n {
		t.Errorf("rows name %d of %d orders", len(ids), n)
	}
	f.wantPending(os...)
}

func intentOnce(t *testing.T, f *Fixture) {
	o := f.takeIn(line("cola", 1))
	again := o
	if err := f.TakeIn(f.ctx, &again); !errors.Is(err, order.ErrExists) {
		t.Errorf("again: %v", err)
	}
	held := f.place(line("cola", 1))
	again.ID = held.ID
	if err := f.TakeIn(f.ctx, &again); !errors.Is(err, order.ErrExists) {
		t.Errorf("an id that was placed: %v", err)
	}
	tap := f.pending(cabinet, "", line("cola", 1))
	var wg sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range 16 {
		wg.Go(func() {
			o := tap
			err := f.TakeIn(f.ctx, &o)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				taken++
			} else if !errors.Is(err, order.ErrExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if taken != 1 {
		t.Errorf("taken in %d times", taken)
	}
	f.wantPending(o, tap)
	f.settleAll()
}

func intentUnknown(t *testing.T, f *Fixture) {
	for want, o := range map[wire.Code]order.Order{
		wire.CodeCabinetUnknown: f.pending("C404", "", line("cola", 1)),
		wire.CodeSKUUnknown:     f.pending(cabinet, "", line("cola", 1), line("gum", 1)),
	} {
		f.refusal(f.TakeIn(f.ctx, &o), want)
		if _, err := f.Find(f.ctx, o.ID); !errors.Is(err, order.ErrUnknown) {
			t.Errorf("%s: %v", want, err)
		}
	}
	good, bad := f.pending(cabinet, "", line("cola", 1)), f.pending("C404", "", line("cola", 1))
	var wg sync.WaitGroup
	wg.Go(func() { f.refusal(f.TakeIn(f.ctx, &bad), wire.CodeCabinetUnknown) })
	wg.Go(func() {
		if err := f.TakeIn(f.ctx, &good); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	f.wantPending(good)
}

func intentPlaced(t *testing.T, f *Fixture) {
	o := f.takeIn(line("cola", 2))
	f.Pass(time.Minute)
	c := order.Change{ID: o.ID, Event: order.PreDeduct, Cause: "placed", Run: f.run(cabinet)}
	f.ok(f.Transition(f.ctx, &c))
	got := f.find(o.ID)
	want := f.Now().Add(15 * time.Minute)
	if got.Status != order.PreReserved || got.Version != 1 || !got.HoldUntil.Equal(want) || !got.ExpiresAt.Equal(want) {
		t.Errorf("stands at %s v%d, held until %v, expires at %v", got.Status, got.Version, got.HoldUntil, got.ExpiresAt)
	}
	if got.Intent.Status != order.IntentPlaced || c.After.Intent.Status != order.IntentPlaced || !got.Intent.DecideBy.Equal(o.Intent.DecideBy) {
		t.Errorf("intent %+v", got.Intent)
	}
	f.wantPending()
	f.wantBacklog(outbox.KindTimer, 1)
	f.wantBacklog(outbox.KindRedis, 0)
	f.wantBacklog(outbox.KindCallback, 0)
	if ms := f.messages(); len(ms) != 1 || ms[0].Statements[0].Version != 1 || ms[0].Statements[0].ID != o.ID {
		t.Errorf("messages %+v", ms)
	}
	if n := f.count("SELECT COUNT(*) FROM trade_stock_ticket WHERE owner = ?", o.ID); n != 1 {
		t.Errorf("%d tickets", n)
	}
	var refused *order.StateError
	if err := f.admit(o, f.run(cabinet)); !errors.As(err, &refused) {
		t.Errorf("once more: %v", err)
	}
	if err := f.refuse(o, wire.CodeStockShort); !errors.As(err, &refused) {
		t.Errorf("refused after all: %v", err)
	}
	f.settleAll()
	f.wantStock("cola", 8, 2, 0)
	f.move(o.ID, order.PaySuccess)
	f.settleAll()
	f.wantStock("cola", 8, 0, 2)
	h, err := f.History(f.ctx, o.ID)
	f.ok(err)
	if len(h) < 3 || h[1].Event != order.PreDeduct || h[1].From != order.Init || h[2].Event != order.PaySuccess {
		t.Errorf("history %+v", h)
	}
}

func intentCounts(t *testing.T, f *Fixture) {
	o := f.takeIn(line("cola", 1))
	before := f.run(cabinet)
	f.load(cabinet)
	if err := f.admit(o, before); !errors.Is(err, order.ErrStale) {
		t.Errorf("a stale run: %v", err)
	}
	other := f.placement(f.order(line("cola", 1)))
	f.ok(f.Place(f.ctx, other))
	if err := f.admit(o, other.Run); !errors.Is(err, order.ErrDoubled) {
		t.Errorf("a ticket that was drawn twice: %v", err)
	}
	f.wantPending(o)
	f.ok(f.admit(o, f.run(cabinet)))
	f.settleAll()
	f.wantStock("cola", 8, 2, 0)

	// In a group, who drew a ticket twice costs himself only.
	bad, good := f.takeIn(line("cola", 1)), f.takeIn(line("cola", 1))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := f.admit(bad, other.Run); !errors.Is(err, order.ErrDoubled) {
			t.Errorf("in a group: %v", err)
		}
	})
	r := f.run(cabinet)
	wg.Go(func() {
		if err := f.admit(good, r); err != nil {
			t.Errorf("his company: %v", err)
		}
	})
	wg.Wait()
	f.wantPending(bad)
	f.settleAll()
}

func intentRefused(t *testing.T, f *Fixture) {
	o := f.takeIn(line("cola", 2))
	f.ok(f.refuse(o, wire.CodeStockShort))
	got := f.find(o.ID)
	if !got.Refused() || got.Pending() || got.Version != order.RefusedVersion || got.Intent.Status != order.IntentRefused ||
		got.Intent.Code != wire.CodeStockShort || got.Intent.Detail != "because" {
		t.Errorf("stands as %+v %+v", got, got.Intent)
	}
	f.wantRelease(o.ID, order.RefusedVersion)
	f.wantBacklog(outbox.KindStock, 0)
	f.wantPending()
	if changed := f.Changed(); len(changed) != 1 || !changed[0].Refused() {
		t.Errorf("announced %+v", changed)
	}
	var state *order.StateError
	if err := f.admit(o, f.run(cabinet)); !errors.As(err, &state) {
		t.Errorf("a late placement: %v", err)
	}
	if err := f.refuse(o, wire.CodeOverloaded); !errors.As(err, &state) || f.find(o.ID).Intent.Code != wire.CodeStockShort {
		t.Errorf("refused again: %v", err)
	}
	for _, e := range order.Events {
		if err := f.Transition(f.ctx, &order.Change{ID: o.ID, Event: e, Run: f.run(cabinet)}); !errors.As(err, &state) {
			t.Errorf("%s: %v", e, err)
		}
	}
	h, err := f.History(f.ctx, o.ID)
	f.ok(err)
	if len(h) != 2 || h[1].Kind != order.EntryIntent || h[1].State != "refused" || h[1].Cause != "stock_short: because" {
		t.Errorf("history %+v", h)
	}
	if err := f.Refuse(f.ctx, &order.Refused{ID: f.ID()}); !errors.Is(err, order.ErrUnknown) {
		t.Errorf("no order: %v", err)
	}
	f.wantStock("cola", 10, 0, 0)
}

func intentRace(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 100})
	for i := range 20 {
		o := f.pending("C2", "https://shop.example/", line("cola", 1))
		f.ok(f.TakeIn(f.ctx, &o))
		var wg sync.WaitGroup
		var placed, refused error
		r := f.run("C2")
		both := []func(){func() { placed = f.admit(o, r) }, func() { refused = f.refuse(o, wire.CodeOverloaded) }}
		wg.Go(both[i%2])
		wg.Go(both[1-i%2])
		wg.Wait()
		if (placed == nil) == (refused == nil) {
			t.Fatalf("placed: %v, refused: %v", placed, refused)
		}
	}
	f.wantBacklog(outbox.KindCallback, 20)
	f.settleAll()
}

func intentCallback(t *testing.T, f *Fixture) {
	const url = "https://shop.example/hook"
	a, b := f.pending(cabinet, url, line("cola", 1)), f.pending(cabinet, url, line("cola", 1))
	f.ok(f.TakeIn(f.ctx, &a))
	f.ok(f.TakeIn(f.ctx, &b))
	f.wantBacklog(outbox.KindCallback, 0)
	f.ok(f.admit(a, f.run(cabinet)))
	f.ok(f.refuse(b, wire.CodePurchaseLimit))
	rows := f.rows(outbox.KindCallback)
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	var told []order.Outcome
	for _, r := range rows {
		var what outbox.Callback
		f.ok(json.Unmarshal(r.Payload, &what))
		if what.URL != url {
			t.Errorf("to %s", what.URL)
		}
		var o order.Outcome
		f.ok(json.Unmarshal(what.Body, &o))
		told = append(told, o)
	}
	if o := told[0]; o.Event != "order.placed" || o.Order.ID != a.ID || o.Order.Status != order.PreReserved || o.Order.DueBy == nil || o.Refusal != nil {
		t.Errorf("placed: %+v", o)
	}
	if o := told[1]; o.Event != "order.refused" || o.Order.ID != b.ID || o.Order.Status != order.Init || o.Refusal == nil || o.Refusal.Code != wire.CodePurchaseLimit {
		t.Errorf("refused: %+v", o)
	}
	f.settleAll()
}

func intentSnapshot(t *testing.T, f *Fixture) {
	waits, no := f.takeIn(line("cola", 3)), f.takeIn(line("cola", 4))
	f.ok(f.refuse(no, wire.CodeStockShort))
	s := f.load(cabinet)
	if s.Sellable["cola"] != 10 {
		t.Errorf("%d cola are sold", s.Sellable["cola"])
	}
	for _, m := range s.Marks {
		if m.ID == waits.ID || m.ID == no.ID && (m.Held || m.Version != order.RefusedVersion || m.Limited) {
			t.Errorf("mark %+v", m)
		}
	}
	f.ok(f.admit(waits, f.run(cabinet)))
	f.settleAll()
	f.wantStock("cola", 7, 3, 0)
}

func intentOrphan(t *testing.T, f *Fixture) {
	o, r := f.takeIn(line("cola", 2)), f.run(cabinet)
	f.settleOrphan(f.hold(o.ID, 1, r), orphan.Standing)
	f.wantBacklog(outbox.KindRedis, 0)
	f.ok(f.refuse(o, wire.CodeOverloaded))
	f.exec("DELETE FROM local_msg WHERE kind = 'redis'")
	f.settleOrphan(f.hold(o.ID, 1, r), orphan.Settled)
	f.wantRelease(o.ID, order.RefusedVersion)
	if n := f.count("SELECT COUNT(*) FROM trade_stock_ticket WHERE ticket = ?", r.Ticket); n != 1 {
		t.Errorf("%d tickets", n)
	}
}

func intentSpare(t *testing.T, f *Fixture) {
	o := f.takeIn(line("cola", 2))
	direct := f.placement(o)
	direct.Order.Status, direct.Order.Version, direct.Order.Intent = order.PreReserved, 1, nil
	if err := f.Place(f.ctx, direct); !errors.Is(err, order.ErrExists) || errors.Is(err, order.ErrSpare) {
		t.Errorf("the same basket: %v", err)
	}
	f.ok(f.admit(o, direct.Run))
	other := f.takeIn(line("cola", 1))
	direct = f.placement(other)
	direct.Order.Lines = []order.Line{line("cola", 5)}
	if err := f.Place(f.ctx, direct); !errors.Is(err, order.ErrSpare) {
		t.Errorf("another basket: %v", err)
	}
	f.settleAll()
}

func intentReplaces(t *testing.T, f *Fixture) {
	l := f.withHolds(5)
	first := f.placeBy(l, "ann", cabinet)
	f.Pass(time.Second)
	o := f.pending(cabinet, "", line("cola", 1))
	f.ok(l.TakeIn(f.ctx, &o))
	f.wantReplaced()
	f.ok(l.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.PreDeduct, Run: f.run(cabinet)}))
	f.wantReplaced(first.ID)
	f.settleAll()
}

func intentSync(t *testing.T, f *Fixture) {
	l := f.direct()
	o := f.pending(cabinet, "https://shop.example/", line("cola", 2))
	f.ok(l.TakeIn(f.ctx, &o))
	f.wantStock("cola", 10, 0, 0)
	f.Pass(time.Minute)
	f.ok(l.AdmitSync(f.ctx, o, items(o, 3)))
	got := f.find(o.ID)
	if want := f.Now().Add(15 * time.Minute); got.Status != order.PreReserved || got.Version != 1 || !got.HoldUntil.Equal(want) || got.Intent.Status != order.IntentPlaced {
		t.Errorf("stands as %+v", got)
	}
	f.wantStock("cola", 8, 2, 0)
	f.wantBacklog(outbox.KindCallback, 1)
	f.wantBacklog(outbox.KindStock, 0)
	var state *order.StateError
	if err := l.AdmitSync(f.ctx, o, items(o, 0)); !errors.As(err, &state) {
		t.Errorf("again: %v", err)
	}
	limited, short := f.pending(cabinet, "", line("cola", 2)), f.pending(cabinet, "", line("cola", 9))
	f.ok(l.TakeIn(f.ctx, &limited))
	f.ok(l.TakeIn(f.ctx, &short))
	f.refusal(l.AdmitSync(f.ctx, limited, items(limited, 3)), wire.CodePurchaseLimit)
	no := f.refusal(l.AdmitSync(f.ctx, short, items(short, 0)), wire.CodeStockShort)
	if len(no.Short) != 1 || no.Short[0].Have != 8 {
		t.Errorf("short of %+v", no.Short)
	}
	f.wantPending(limited, short)
	f.wantStock("cola", 8, 2, 0)
}

func intentSyncRefused(t *testing.T, f *Fixture) {
	l := f.direct()
	o := f.pending(cabinet, "", line("cola", 2))
	f.ok(l.TakeIn(f.ctx, &o))
	f.ok(l.Refuse(f.ctx, &order.Refused{ID: o.ID, Code: wire.CodeStockShort}))
	f.wantBacklog(outbox.KindRedis, 0)
	var state *order.StateError
	if err := l.AdmitSync(f.ctx, o, items(o, 0)); !errors.As(err, &state) {
		t.Errorf("a late placement: %v", err)
	}
	f.wantStock("cola", 10, 0, 0)
}
