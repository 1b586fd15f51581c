package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"vendline/cloud/dispense"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func commands() []promise {
	return []promise{
		{"a cabinet hears of all paid orders, oldest first, and of nothing else", commandsOffered},
		{"what is left to begin is never too long, and never nothing", commandsExpire},
		{"a command is marked as offered before anybody hears of it", commandsMarked},
		{"a command that no cabinet heard of is taken back with its units", abandonUnheard},
		{"a command without a word is refunded, and its units stay where they are", abandonSilent},
		{"a command is given up once, and not before its time", abandonOnce},
		{"a paid order cannot be cancelled any more", cancelPaid},
		{"offering and taking back exclude one another", offerRace},
	}
}

// minute is how long a cabinet has to begin.
const minute = time.Minute

// paid places an order, has it paid with money that is here, and applies it.
func (f *Fixture) paid(lines ...order.Line) order.Order { return f.paidAt(cabinet, lines...) }

func (f *Fixture) paidAt(c string, lines ...order.Line) order.Order {
	f.t.Helper()
	o := f.orderAt(c, lines...)
	f.ok(f.Place(f.ctx, f.placement(o)))
	f.capture(f.open(o, "sandbox"))
	f.settleAll()
	return f.find(o.ID)
}

// commandOf is the id of an order's command, and its state.
func (f *Fixture) commandOf(o order.Order) (id, status string) {
	f.t.Helper()
	f.ok(f.DB.QueryRowContext(f.ctx, "SELECT command_id, status FROM trade_command WHERE order_sn = ?", o.ID).Scan(&id, &status))
	return id, status
}

// giveUp lets a command's time pass, and gives up on it.
func (f *Fixture) giveUp(o order.Order) {
	f.t.Helper()
	f.Pass(3 * minute)
	id, _ := f.commandOf(o)
	f.ok(f.AbandonCommand(f.ctx, id, f.Now().Add(-90*time.Second)))
	f.settleAll()
}

// refunds are the amounts on their way back for an order, by SKU.
func (f *Fixture) refunds(o order.Order) map[string]int64 {
	f.t.Helper()
	rows, err := f.DB.QueryContext(f.ctx, "SELECT sku_id, amount FROM trade_refund WHERE order_sn = ?", o.ID)
	f.ok(err)
	defer rows.Close()
	out := map[string]int64{}
	for rows.Next() {
		var sku string
		var n int64
		f.ok(rows.Scan(&sku, &n))
		out[sku] += n
	}
	return out
}

func (f *Fixture) wantRefunds(o order.Order, want map[string]int64) {
	f.t.Helper()
	if got := f.refunds(o); !Same(got, want) {
		f.t.Errorf("refunds are %v, want %v", got, want)
	}
}

// wantCases checks which kinds of cases are open, sorted.
func (f *Fixture) wantCases(want ...order.CaseKind) {
	f.t.Helper()
	cases, err := f.Cases(f.ctx, false, 100)
	f.ok(err)
	var got []order.CaseKind
	for _, c := range cases {
		got = append(got, c.Kind)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		f.t.Errorf("open cases are %v, want %v", got, want)
	}
}

// wantLine checks a line's state and how many units dropped.
func (f *Fixture) wantLine(o order.Order, sku string, state order.LineState, dropped int) {
	f.t.Helper()
	for _, l := range f.find(o.ID).Lines {
		if l.SKU == sku && (l.State != state || l.Dropped != dropped) {
			f.t.Errorf("%s is %s, %d dropped; want %s, %d", sku, l.State, l.Dropped, state, dropped)
		}
	}
}

func commandsOffered(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 5})
	other := f.orderAt("C2", line("cola", 1))
	f.ok(f.Place(f.ctx, f.placement(other)))
	f.move(other.ID, order.PaySuccess)
	if got := f.offer(); len(got) != 0 {
		t.Errorf("offered %+v", got)
	}
	first := f.paid(line("chips", 1), line("cola", 2))
	f.Pass(time.Second)
	f.place(line("cola", 1)) // not paid
	second := f.paid(line("cola", 1))
	got := f.offer()
	if len(got) != 2 || got[0].Order != first.ID || got[1].Order != second.ID {
		t.Fatalf("offered %+v", got)
	}
	id, _ := f.commandOf(first)
	if got[0].ID != id || !slices.Equal(got[0].Lines, []wire.Line{{SKU: "chips", Qty: 1}, {SKU: "cola", Qty: 2}}) {
		t.Errorf("the first is %+v", got[0])
	}
	if again := f.offer(); len(again) != 2 || again[0].ID != id {
		t.Errorf("asked again: %+v", again)
	}
	f.report(first, wire.DispenseLine{SKU: "chips", State: wire.Uncertain})
	if got := f.offer(); len(got) != 1 || got[0].Order != second.ID {
		t.Errorf("a command that its cabinet has spoken of is offered again: %+v", got)
	}
}

func commandsExpire(t *testing.T, f *Fixture) {
	f.paid(line("cola", 1))
	if got := f.offer()[0].ExpiresIn; got > minute.Milliseconds() || got < 50_000 {
		t.Errorf("%d ms to begin", got)
	}
	f.Pass(59 * time.Second)
	for _, v := range f.offer() {
		if v.ExpiresIn <= 0 || v.ExpiresIn > 1000 {
			t.Errorf("%d ms to begin", v.ExpiresIn)
		}
	}
	f.Pass(time.Second)
	if got := f.offer(); len(got) != 0 {
		t.Errorf("offered after its time: %+v", got)
	}
}

func commandsMarked(t *testing.T, f *Fixture) {
	o := f.paid(line("cola", 1))
	if n := f.count("SELECT COUNT(*) FROM trade_command WHERE offered_at <> 0"); n != 0 {
		t.Fatal("marked before anybody asked")
	}
	f.offer()
	if n := f.count("SELECT COUNT(*) FROM trade_command WHERE offered_at <> 0 AND order_sn = ?", o.ID); n != 1 {
		t.Error("not marked")
	}
}

func abandonUnheard(t *testing.T, f *Fixture) {
	o := f.paid(line("chips", 1), line("cola", 2))
	f.wantStock("cola", 8, 0, 2)
	f.giveUp(o)
	f.wantRefunds(o, map[string]int64{"chips": 100, "cola": 200})
	f.wantStock("cola", 10, 0, 0)
	f.wantStock("chips", 10, 0, 0)
	f.wantLine(o, "cola", order.LineFailed, 0)
	f.wantCases(order.CaseNotDispensed)
	f.wantBacklog(outbox.KindCommand, 0)
	if o := f.find(o.ID); o.Status != order.Consumed {
		t.Errorf("the order stands at %s", o.Status)
	}
}

func abandonSilent(t *testing.T, f *Fixture) {
	o := f.paid(line("cola", 2))
	f.offer()
	f.giveUp(o)
	f.wantRefunds(o, map[string]int64{"cola": 200})
	f.wantStock("cola", 8, 0, 2)
	f.wantLine(o, "cola", order.LineUnknown, 0)
	f.wantCases(order.CaseNotDispensed)
	f.wantBacklog(outbox.KindCommand, 0)
}

func abandonOnce(t *testing.T, f *Fixture) {
	o := f.paid(line("cola", 2))
	f.offer()
	id, _ := f.commandOf(o)
	f.ok(f.AbandonCommand(f.ctx, id, f.Now()))
	if _, status := f.commandOf(o); status != "open" {
		t.Errorf("given up before its time: %s", status)
	}
	f.Pass(3 * minute)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() { f.ok(f.AbandonCommand(f.ctx, id, f.Now())) })
	}
	wg.Wait()
	f.wantRefunds(o, map[string]int64{"cola": 200})
	if err := f.AbandonCommand(f.ctx, f.ID(), f.Now()); !errors.Is(err, dispense.ErrUnknown) {
		t.Errorf("an unknown command: %v", err)
	}
	if n := f.count("SELECT COUNT(*) FROM trade_order_event WHERE order_sn = ?", o.ID); n == 0 {
		t.Error("the order's history does not tell")
	}
}

func cancelPaid(t *testing.T, f *Fixture) {
	o := f.paid(line("cola", 1))
	for _, told := range []func(){func() {}, func() { f.offer() }} {
		told()
		var refused *order.StateError
		if err := f.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.Timeout, Cause: "cancelled by shopper"}); !errors.As(err, &refused) {
			t.Errorf("got %v", err)
		}
	}
	f.wantStock("cola", 9, 0, 1)
	f.wantRefunds(o, nil)
}

func offerRace(t *testing.T, f *Fixture) {
	for i := range 6 {
		c := fmt.Sprint("R", i)
		f.AddStock(c, map[string]int64{"cola": 1})
		o := f.paidAt(c, line("cola", 1))
		f.ok(f.Record(f.ctx, f.factAt(c, statement.Sale, wire.Line{SKU: "cola", Qty: 1}))) // the one there was
		var offered []wire.Vend
		var wg sync.WaitGroup
		wg.Go(func() {
			var err error
			offered, err = f.OpenCommands(f.ctx, c)
			f.ok(err)
		})
		wg.Go(func() { f.ok(second(f.SettleShortage(f.ctx, c, "cola"))) })
		wg.Wait()
		f.settleAll()
		_, status := f.commandOf(o)
		if (len(offered) > 0) == (status == "withdrawn") {
			t.Errorf("offered %+v, and it is %s", offered, status)
		}
		if len(offered) > 0 { // the cabinet finds its slot empty
			f.report(o, wire.DispenseLine{SKU: "cola", State: wire.Failed})
		}
		if rows, err := f.Stock(f.ctx, c); err != nil || rows[0].Available != 0 {
			t.Errorf("%+v of what is not there (%v)", rows, err)
		}
		f.wantRefunds(o, map[string]int64{"cola": 100})
	}
}
