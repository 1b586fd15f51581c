package ledgertest

import (
	"testing"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func stocktakes() []promise {
	return []promise{
		{"a count books what is more, and what is less, than expected", countDiffers},
		{"what is promised and still there is expected to be there", countPromised},
		{"a restock counts first, then puts in", countRestock},
		{"a count counts once, however often it is sent", countOnce},
		{"what happened before a count and comes after it changes nothing", countLate},
		{"what happened after a count and came before it is not counted", countEarly},
		{"a count that comes after a later one changes nothing", countOvertaken},
		{"a count says nothing of what it does not name, nor of another outbox", countOthers},
		{"a count finds units of a command that nobody ever heard of", countSilent},
		{"a command that drops after a count that had given it up is taken out", countGivenUp},
		{"a count that finds too little makes a shortage", countShort},
		{"facts without lines are kept, once", factNews},
	}
}

// log is one outbox of a cabinet: facts get their places in it.
type log struct {
	f       *Fixture
	cabinet string
	epoch   string
	seq     int64
}

func (f *Fixture) log(cabinet string) *log { return &log{f: f, cabinet: cabinet, epoch: f.ID()} }

func (g *log) fact(state statement.State, lines ...wire.Line) ledger.Fact {
	g.seq++
	fact := g.f.factAt(g.cabinet, state, lines...)
	fact.Epoch, fact.Seq = g.epoch, g.seq
	return fact
}

// count is a stocktake, or with lines a counted restock, after all that happened.
func (g *log) count(units map[string]int, lines ...wire.Line) ledger.Count {
	state := ledger.Stocktake
	if lines != nil {
		state = statement.Restock
	}
	c := ledger.Count{Fact: g.fact(state, lines...)}
	for _, sku := range []string{"chips", "cola", "gum"} {
		if n, ok := units[sku]; ok {
			c.Counts = append(c.Counts, wire.Count{SKU: sku, Units: n})
		}
	}
	c.Upto = c.Seq - 1
	return c
}

func (g *log) report(o order.Order, lines ...wire.DispenseLine) (ledger.Fact, wire.Dispense) {
	fact, d := g.f.reportOf(o, lines...)
	g.seq++
	fact.Epoch, fact.Seq = g.epoch, g.seq
	return fact, d
}

// count1 records a count and applies it.
func (f *Fixture) count1(c ledger.Count) {
	f.t.Helper()
	f.ok(f.RecordCount(f.ctx, c))
	f.settleAll()
}

// take records a fact and applies it.
func (f *Fixture) take(fact ledger.Fact) {
	f.t.Helper()
	f.ok(f.Record(f.ctx, fact))
	f.settleAll()
}

// wantTotal checks how many units of a SKU are, or were, in C1.
func (f *Fixture) wantTotal(sku string, total, available int64) {
	f.t.Helper()
	if r := f.stock(sku); r.Total != total || r.Available != available {
		f.t.Errorf("%s: total %d, available %d; want %d, %d", sku, r.Total, r.Available, total, available)
	}
}

func countDiffers(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	f.take(g.fact(statement.Sale, wire.Line{SKU: "cola", Qty: 2}))
	f.count1(g.count(map[string]int{"chips": 12, "cola": 7, "gum": 0}))
	f.wantStock("cola", 7, 0, 2)
	f.wantTotal("cola", 9, 7)
	f.wantTotal("chips", 12, 12)
	f.count1(g.count(map[string]int{"chips": 12, "cola": 7, "gum": 3}))
	f.wantTotal("gum", 3, 3)
	f.wantTotal("cola", 9, 7)
	if n := f.count("SELECT COUNT(*) FROM trade_fact WHERE kind IN ('DRIFT', 'LOSS')"); n != 3 {
		t.Errorf("%d differences", n)
	}
}

func countPromised(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	f.place(line("cola", 1))
	open := f.paid(line("cola", 2))
	done := f.paid(line("cola", 1))
	f.offer()
	f.report(done, wire.DispenseLine{SKU: "cola", State: wire.Dispensed, Units: 1})
	unsure := f.paid(line("cola", 1))
	f.offer()
	f.report(unsure, wire.DispenseLine{SKU: "cola", State: wire.Uncertain})
	f.count1(g.count(map[string]int{"cola": 8})) // ten but for one that dropped, and one that may have
	f.wantStock("cola", 5, 1, 4)
	f.wantTotal("cola", 10, 5)
	f.report(open, wire.DispenseLine{SKU: "cola", State: wire.Dispensed, Units: 2})
	f.count1(g.count(map[string]int{"cola": 7})) // the unsure one had not dropped
	f.wantTotal("cola", 11, 6)
}

func countRestock(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	f.count1(g.count(map[string]int{"cola": 8}, wire.Line{SKU: "chips", Qty: 1}, wire.Line{SKU: "cola", Qty: 5}))
	f.wantTotal("cola", 13, 13)
	f.wantTotal("chips", 11, 11)
}

func countOnce(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	c := g.count(map[string]int{"cola": 8}, wire.Line{SKU: "cola", Qty: 5})
	c.Body = []byte("counted")
	for range 3 {
		f.count1(c)
	}
	f.wantTotal("cola", 13, 13)
	c.Body = []byte("otherwise")
	f.refusal(f.RecordCount(f.ctx, c), wire.CodeIdempotencyConflict)
	c.ID, c.Cabinet = f.ID(), "C404"
	f.refusal(f.RecordCount(f.ctx, c), wire.CodeCabinetUnknown)
}

func countLate(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	o := f.paid(line("chips", 2), line("cola", 2))
	f.offer()
	sale := g.fact(statement.Sale, wire.Line{SKU: "cola", Qty: 1})
	restock := g.fact(statement.Restock, wire.Line{SKU: "chips", Qty: 4})
	report, d := g.report(o, wire.DispenseLine{SKU: "chips", State: wire.Dispensed, Units: 2}, wire.DispenseLine{SKU: "cola", State: wire.Failed, Units: 1})
	// There were 10 chips and 11 cola when it began; nobody knew of the one more.
	f.count1(g.count(map[string]int{"chips": 12, "cola": 9}))
	f.take(sale)
	f.take(restock)
	f.ok(f.RecordDispense(f.ctx, report, d))
	f.settleAll()
	f.wantTotal("chips", 14, 12)
	f.wantStock("chips", 12, 0, 2)
	f.wantStock("cola", 9, 0, 2) // one sold, one vended; nine to sell
	f.wantRefunds(o, map[string]int64{"cola": 100})
}

func countEarly(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	o := f.paid(line("chips", 2))
	f.offer()
	c := g.count(map[string]int{"chips": 9, "cola": 10})
	sale := g.fact(statement.Sale, wire.Line{SKU: "cola", Qty: 1})
	restock := g.fact(statement.Restock, wire.Line{SKU: "chips", Qty: 4})
	report, d := g.report(o, wire.DispenseLine{SKU: "chips", State: wire.Failed, Units: 1})
	f.take(sale)
	f.take(restock)
	f.ok(f.RecordDispense(f.ctx, report, d))
	f.count1(c)
	f.wantStock("cola", 9, 0, 1)
	f.wantStock("chips", 12, 0, 1) // 9 counted, 4 put in, 1 vended
}

func countOvertaken(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	first := g.count(map[string]int{"chips": 4, "cola": 4})
	second := g.count(map[string]int{"cola": 7})
	f.count1(second)
	f.count1(first)
	f.wantTotal("cola", 7, 7)
	f.wantTotal("chips", 4, 4)
}

func countOthers(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	sale := g.fact(statement.Sale, wire.Line{SKU: "chips", Qty: 1}, wire.Line{SKU: "cola", Qty: 1})
	elsewhere := f.log(cabinet).fact(statement.Sale, wire.Line{SKU: "cola", Qty: 1})
	f.count1(g.count(map[string]int{"cola": 9}))
	f.take(sale)
	f.take(elsewhere)
	f.wantStock("chips", 9, 0, 1)
	f.wantStock("cola", 8, 0, 2)
}

func countSilent(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	o := f.paid(line("cola", 2))
	f.offer() // and the answer was lost
	f.giveUp(o)
	f.wantStock("cola", 8, 0, 2)
	f.count1(g.count(map[string]int{"cola": 10}))
	f.wantStock("cola", 10, 0, 2)
	f.count1(g.count(map[string]int{"cola": 10}))
	f.wantStock("cola", 10, 0, 2)
}

func countGivenUp(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	o := f.paid(line("cola", 2))
	early := f.paid(line("cola", 1))
	f.offer()
	before, e := g.report(early, wire.DispenseLine{SKU: "cola", State: wire.Dispensed, Units: 1})
	c := g.count(map[string]int{"cola": 9})
	after, a := g.report(o, wire.DispenseLine{SKU: "cola", State: wire.Failed, Units: 1})
	f.giveUp(o) // the cabinet has been alone for hours
	f.giveUp(early)
	f.count1(c)
	f.ok(f.RecordDispense(f.ctx, after, a))
	f.ok(f.RecordDispense(f.ctx, before, e))
	f.settleAll()
	if r := f.stock("cola"); r.Available != 8 {
		t.Errorf("%+v, and eight are there", r)
	}
}

func countShort(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	held := f.place(line("cola", 4))
	o := f.paid(line("cola", 4))
	f.count1(g.count(map[string]int{"cola": 3}))
	if o := f.find(held.ID); o.Status != order.RolledBack {
		t.Errorf("the hold stands at %s", o.Status)
	}
	f.wantCommand(o, "withdrawn")
	f.wantStock("cola", 3, 0, 0)
	f.wantTotal("cola", 3, 3)
}

func factNews(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	door := g.fact(ledger.Door)
	door.Body = []byte(`{"kind":"door","door":"open"}`)
	f.ok(f.RecordNews(f.ctx, door))
	f.ok(f.RecordNews(f.ctx, door))
	if n := f.count("SELECT COUNT(*) FROM trade_fact WHERE kind = 'DOOR'"); n != 1 {
		t.Errorf("%d facts", n)
	}
	f.exec("INSERT INTO trade_planogram (cabinet_id, version, body, created_at, acked_at) VALUES ('C1', 4, '{}', 0, NULL)")
	f.ok(f.AckPlanogram(f.ctx, cabinet, 4))
	at := f.count("SELECT acked_at FROM trade_planogram")
	f.Pass(minute)
	f.ok(f.AckPlanogram(f.ctx, cabinet, 4))
	if again := f.count("SELECT acked_at FROM trade_planogram"); at == 0 || again != at {
		t.Errorf("acknowledged at %d, then %d", at, again)
	}
}
