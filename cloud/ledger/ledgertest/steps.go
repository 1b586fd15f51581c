package ledgertest

import (
	"context"
	"slices"
	"time"

	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// line is "n of sku".
func line(sku string, n int) order.Line {
	return order.Line{SKU: sku, Qty: n, Price: 100, State: order.LinePending}
}

// order drafts an order of C1 as the service would.
func (f *Fixture) order(lines ...order.Line) order.Order { return f.orderAt(cabinet, lines...) }

func (f *Fixture) orderAt(c string, lines ...order.Line) order.Order {
	o := order.Order{ID: f.ID(), Cabinet: c, User: "ann", Status: order.PreReserved, Version: 1, Currency: "EUR", Lines: lines,
		CreatedAt: f.Now(), ExpiresAt: f.Now().Add(15 * time.Minute), HoldUntil: f.Now().Add(15 * time.Minute)}
	for _, l := range lines {
		o.Amount += l.Price * int64(l.Qty)
	}
	return o
}

// run is a run under the generation last loaded, with a fresh ticket.
func (f *Fixture) run(c string) order.Run {
	return order.Run{Generation: f.gens[c], Ticket: f.ticket.Add(1)}
}

func (f *Fixture) placement(o order.Order) *order.Placement {
	return &order.Placement{Order: o, Run: f.run(o.Cabinet)}
}

// place places an order of C1 that must be accepted.
func (f *Fixture) place(lines ...order.Line) order.Order {
	f.t.Helper()
	o := f.order(lines...)
	f.ok(f.Place(f.ctx, f.placement(o)))
	return o
}

// move moves an order, which must be possible.
func (f *Fixture) move(id string, e order.Event) order.Order {
	f.t.Helper()
	c := order.Change{ID: id, Event: e, Cause: "test", Run: f.run(f.find(id).Cabinet)}
	f.ok(f.Transition(f.ctx, &c))
	return c.After
}

func (f *Fixture) find(id string) order.Order {
	f.t.Helper()
	o, err := f.Find(f.ctx, id)
	f.ok(err)
	return o
}

// record records a fact that must be accepted.
func (f *Fixture) record(state statement.State, lines ...wire.Line) ledger.Fact {
	f.t.Helper()
	fact := f.factAt(cabinet, state, lines...)
	f.ok(f.Record(f.ctx, fact))
	return fact
}

func (f *Fixture) factAt(c string, state statement.State, lines ...wire.Line) ledger.Fact {
	return ledger.Fact{ID: f.ID(), Cabinet: c, State: state, Epoch: f.ID(), Seq: 1, Cause: "test", Lines: lines}
}

// load rebuilds a cabinet and remembers its generation.
func (f *Fixture) load(c string) fence.Snapshot {
	f.t.Helper()
	var got fence.Snapshot
	f.ok(f.Rebuild(f.ctx, c, stale, func(_ context.Context, s fence.Snapshot) error { got = s; return nil }))
	f.gens[c] = got.Generation
	return got
}

func stale(context.Context, string) (bool, error) { return false, nil }

// rows are the outbox rows of a kind, oldest id first.
func (f *Fixture) rows(kind outbox.Kind) []outbox.Row {
	f.t.Helper()
	found, err := f.DB.QueryContext(f.ctx, "SELECT id, shard, payload, created_at FROM local_msg WHERE kind = ? ORDER BY id", string(kind))
	f.ok(err)
	defer found.Close()
	var out []outbox.Row
	for found.Next() {
		r := outbox.Row{Kind: kind}
		var created int64
		f.ok(found.Scan(&r.ID, &r.Shard, &r.Payload, &created))
		r.CreatedAt = time.UnixMilli(created).UTC()
		out = append(out, r)
	}
	f.ok(found.Err())
	return out
}

// messages are the stock messages that wait in the outbox.
func (f *Fixture) messages() []statement.Message {
	f.t.Helper()
	var out []statement.Message
	for _, r := range f.rows(outbox.KindStock) {
		m, err := statement.Decode(r.Payload)
		f.ok(err)
		out = append(out, m)
	}
	return out
}

// effects are the Redis effects that wait in the outbox.
func (f *Fixture) effects() []effect.Effect {
	f.t.Helper()
	var out []effect.Effect
	for _, r := range f.rows(outbox.KindRedis) {
		es, err := effect.Decode(r.Payload)
		f.ok(err)
		out = append(out, es...)
	}
	return out
}

// apply is step 8 over some messages.
func (f *Fixture) apply(msgs ...statement.Message) statement.Applied {
	f.t.Helper()
	a, err := f.Apply(f.ctx, msgs)
	f.ok(err)
	return a
}

// settleAll applies whatever waits, settling shortages, until nothing does.
func (f *Fixture) settleAll() {
	f.t.Helper()
	for range 50 {
		msgs := f.messages()
		if len(msgs) == 0 {
			return
		}
		for _, s := range f.apply(msgs...).Waiting {
			for _, w := range s.Lines {
				_, err := f.SettleShortage(f.ctx, s.Cabinet, w.SKU)
				f.ok(err)
			}
		}
		f.Pass(time.Second)
	}
	f.t.Fatalf("statements do not settle: %+v", f.messages())
}

// stock is one stock row.
func (f *Fixture) stock(sku string) ledger.StockRow {
	f.t.Helper()
	rows, err := f.Stock(f.ctx, cabinet)
	f.ok(err)
	i := slices.IndexFunc(rows, func(r ledger.StockRow) bool { return r.SKU == sku })
	if i < 0 {
		f.t.Fatalf("no stock row for %s", sku)
	}
	return rows[i]
}

// wantStock checks available, locked and sold of a SKU of C1.
func (f *Fixture) wantStock(sku string, available, locked, sold int64) {
	f.t.Helper()
	if r := f.stock(sku); r.Available != available || r.Locked != locked || r.Sold != sold {
		f.t.Errorf("%s: available %d, locked %d, sold %d; want %d, %d, %d", sku, r.Available, r.Locked, r.Sold, available, locked, sold)
	}
}

// wantBacklog checks how many outbox rows of a kind wait.
func (f *Fixture) wantBacklog(kind outbox.Kind, n int) {
	f.t.Helper()
	if got := len(f.rows(kind)); got != n {
		f.t.Errorf("%d %s rows wait, want %d", got, kind, n)
	}
}

// offer answers C1's question for what it is to dispense.
func (f *Fixture) offer() []wire.Vend {
	f.t.Helper()
	vends, err := f.OpenCommands(f.ctx, cabinet)
	f.ok(err)
	return vends
}
