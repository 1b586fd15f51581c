package ledgertest

import (
	"sync"
	"testing"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func results() []promise {
	return []promise{
		{"what dropped is done, and the command with it", resultDispensed},
		{"what did not drop is refunded, returned to stock, and its slot suspended", resultFailed},
		{"an expired command is refunded and returned", resultExpired},
		{"a report counts once, however often it is sent", resultOnce},
		{"a report that contradicts its command is refused", resultRefused},
		{"a line that nobody can tell about is refunded at its time", resultUnknown},
		{"a better word corrects one that could not tell, whichever comes first", resultCorrected},
		{"what drops after its refund is a case, and no second refund", resultAfterRefund},
		{"what did not drop after its refund returns to stock now", resultReturnsLate},
		{"without money that is here nothing is refunded", resultUnpaid},
		{"a slot that works again is sold again, whichever news comes first", slotNews},
		{"a slot that failed and was freed is as the later of both says", slotFreed},
		{"sync: a failed line is refunded and its units are back at once", resultDirect},
		{"sync: a shortage takes back a paid order that no cabinet heard of", shortageDirect},
	}
}

// report reports on an order's command, and applies what follows.
func (f *Fixture) report(o order.Order, lines ...wire.DispenseLine) (ledger.Fact, wire.Dispense) {
	f.t.Helper()
	fact, d := f.reportOf(o, lines...)
	f.ok(f.RecordDispense(f.ctx, fact, d))
	f.settleAll()
	return fact, d
}

func (f *Fixture) reportOf(o order.Order, lines ...wire.DispenseLine) (ledger.Fact, wire.Dispense) {
	f.t.Helper()
	id, _ := f.commandOf(o)
	fact := f.factAt(o.Cabinet, ledger.Dispense)
	d := wire.Dispense{Command: id, Order: o.ID, Lines: lines}
	fact.Body = wire.Encode(wire.Fact{Kind: wire.FactDispense, Dispense: &d})
	return fact, d
}

func (f *Fixture) wantCommand(o order.Order, want string) {
	f.t.Helper()
	if _, got := f.commandOf(o); got != want {
		f.t.Errorf("the command is %s, want %s", got, want)
	}
}

func (f *Fixture) wantFaults(want ...string) {
	f.t.Helper()
	faults, err := f.SlotFaults(f.ctx)
	f.ok(err)
	ok := len(faults) == len(want)
	for i := range faults {
		ok = ok && faults[i].Cabinet+"/"+faults[i].Slot+"/"+faults[i].SKU == want[i]
	}
	if !ok {
		f.t.Errorf("suspended are %+v, want %v", faults, want)
	}
}

func resultDispensed(t *testing.T, f *Fixture) {
	o := f.paid(line("chips", 1), line("cola", 2))
	f.offer()
	f.report(o, wire.DispenseLine{SKU: "chips", State: wire.Dispensed, Units: 1})
	f.wantCommand(o, "reported")
	f.wantBacklog(outbox.KindCommand, 1)
	f.report(o, wire.DispenseLine{SKU: "cola", State: wire.Dispensed, Units: 2})
	f.wantCommand(o, "done")
	f.wantBacklog(outbox.KindCommand, 0)
	f.wantLine(o, "cola", order.LineDispensed, 2)
	f.wantStock("cola", 8, 0, 2)
	f.wantRefunds(o, nil)
	f.wantCases()
}

func resultFailed(t *testing.T, f *Fixture) {
	f.exec(`INSERT INTO trade_planogram (cabinet_id, version, body, created_at, acked_at) VALUES (?, 1, ?, 0, 1)`, cabinet,
		wire.Encode(wire.Planogram{Version: 1, Slots: []wire.Slot{{Slot: "A1", SKU: "cola"}}}))
	o := f.paid(line("chips", 1), line("cola", 3))
	f.offer()
	f.report(o, wire.DispenseLine{SKU: "chips", State: wire.Dispensed, Units: 1},
		wire.DispenseLine{SKU: "cola", State: wire.Failed, Units: 1, Detail: "motor stalled"})
	f.wantCommand(o, "done")
	f.wantLine(o, "cola", order.LineFailed, 1)
	f.wantRefunds(o, map[string]int64{"cola": 200})
	f.wantStock("cola", 9, 0, 1)
	f.wantFaults("C1/A1/cola")
	f.wantCases(order.CaseSlotFault)
}

func resultExpired(t *testing.T, f *Fixture) {
	o := f.paid(line("cola", 2))
	f.offer()
	f.report(o, wire.DispenseLine{SKU: "cola", State: wire.Expired})
	f.wantLine(o, "cola", order.LineFailed, 0)
	f.wantRefunds(o, map[string]int64{"cola": 200})
	f.wantStock("cola", 10, 0, 0)
	f.wantFaults()
}

func resultOnce(t *testing.T, f *Fixture) {
	o := f.paid(line("cola", 2))
	f.offer()
	fact, d := f.reportOf(o, wire.DispenseLine{SKU: "cola", State: wire.Failed, Units: 1})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { f.ok(f.RecordDispense(f.ctx, fact, d)) })
	}
	wg.Wait()
	f.report(o, d.Lines...) // the same under another id
	f.report(o, wire.DispenseLine{SKU: "cola", State: wire.Dispensed, Units: 2})
	f.settleAll()
	f.wantRefunds(o, map[string]int64{"cola": 100})
	f.wantStock("cola", 9, 0, 1)
	f.wantLine(o, "cola", order.LineFailed, 1)
	other := fact
	other.Body = []byte("{}")
	f.refusal(f.RecordDispense(f.ctx, other, d), wire.CodeIdempotencyConflict)
}

func resultRefused(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 5})
	o := f.paid(line("cola", 2))
	f.offer()
	dropped := wire.DispenseLine{SKU: "cola", State: wire.Dispensed, Units: 2}
	for what, change := range map[string]func(*ledger.Fact, *wire.Dispense){
		"another cabinet": func(x *ledger.Fact, _ *wire.Dispense) { x.Cabinet = "C2" },
		"unknown command": func(_ *ledger.Fact, d *wire.Dispense) { d.Command = f.ID() },
		"unknown order":   func(_ *ledger.Fact, d *wire.Dispense) { d.Order = f.ID() },
		"unknown sku": func(_ *ledger.Fact, d *wire.Dispense) {
			d.Lines = append(d.Lines, wire.DispenseLine{SKU: "gum", State: wire.Expired})
		},
		"too many units": func(_ *ledger.Fact, d *wire.Dispense) { d.Lines[0].Units = 3 },
		"too few units":  func(_ *ledger.Fact, d *wire.Dispense) { d.Lines[0].Units = 1 },
	} {
		t.Log(what)
		fact, d := f.reportOf(o, dropped)
		change(&fact, &d)
		f.refusal(f.RecordDispense(f.ctx, fact, d), wire.CodeInvalidRequest)
	}
	nowhere, d := f.reportOf(o, dropped)
	nowhere.Cabinet = "C404"
	f.refusal(f.RecordDispense(f.ctx, nowhere, d), wire.CodeCabinetUnknown)
	f.wantCommand(o, "open")
	if n := f.count("SELECT COUNT(*) FROM trade_fact"); n != 0 {
		t.Errorf("%d facts stay of what was refused", n)
	}
}

func resultUnknown(t *testing.T, f *Fixture) {
	o := f.paid(line("cola", 2))
	f.offer()
	f.report(o, wire.DispenseLine{SKU: "cola", State: wire.Uncertain, Units: 1})
	f.wantLine(o, "cola", order.LineUnknown, 1)
	f.wantRefunds(o, nil)
	f.wantCases(order.CaseLineUnknown)
	f.wantBacklog(outbox.KindCommand, 1)
	f.giveUp(o)
	f.wantRefunds(o, map[string]int64{"cola": 100})
	f.wantStock("cola", 8, 0, 2)
	f.wantCommand(o, "done")
}

func resultCorrected(t *testing.T, f *Fixture) {
	for _, late := range []bool{false, true} {
		o := f.paid(line("chips", 1), line("cola", 2))
		f.offer()
		unsure, u := f.reportOf(o, wire.DispenseLine{SKU: "chips", State: wire.Uncertain}, wire.DispenseLine{SKU: "cola", State: wire.Uncertain})
		sure, s := f.reportOf(o, wire.DispenseLine{SKU: "chips", State: wire.Dispensed, Units: 1}, wire.DispenseLine{SKU: "cola", State: wire.Failed, Units: 1})
		if late {
			f.ok(f.RecordDispense(f.ctx, sure, s))
			f.ok(f.RecordDispense(f.ctx, unsure, u))
		} else {
			f.ok(f.RecordDispense(f.ctx, unsure, u))
			f.ok(f.RecordDispense(f.ctx, sure, s))
		}
		f.settleAll()
		f.wantLine(o, "chips", order.LineDispensed, 1)
		f.wantLine(o, "cola", order.LineFailed, 1)
		f.wantRefunds(o, map[string]int64{"cola": 100})
		f.wantCommand(o, "done")
	}
	f.wantStock("cola", 8, 0, 2)
	f.wantStock("chips", 8, 0, 2)
}

func resultAfterRefund(t *testing.T, f *Fixture) {
	o := f.paid(line("cola", 2))
	f.offer()
	f.giveUp(o)
	f.report(o, wire.DispenseLine{SKU: "cola", State: wire.Dispensed, Units: 2})
	f.wantRefunds(o, map[string]int64{"cola": 200})
	f.wantStock("cola", 8, 0, 2)
	f.wantLine(o, "cola", order.LineDispensed, 2)
	f.wantCases(order.CaseNotDispensed, order.CaseVendedRefunded)
	f.wantCommand(o, "done")

	never := f.paid(line("chips", 1)) // taken back, and dropped all the same: a cabinet that makes commands up
	f.giveUp(never)
	f.report(never, wire.DispenseLine{SKU: "chips", State: wire.Dispensed, Units: 1})
	f.wantRefunds(never, map[string]int64{"chips": 100})
	if got := f.stock("chips"); got.Available != 9 {
		t.Errorf("%+v", got)
	}
}

func resultReturnsLate(t *testing.T, f *Fixture) {
	o := f.paid(line("chips", 1), line("cola", 2))
	f.offer()
	f.giveUp(o)
	f.report(o, wire.DispenseLine{SKU: "chips", State: wire.Expired}, wire.DispenseLine{SKU: "cola", State: wire.Failed, Units: 1})
	f.wantRefunds(o, map[string]int64{"chips": 100, "cola": 200})
	f.wantStock("chips", 10, 0, 0)
	f.wantStock("cola", 9, 0, 1)
	f.wantCommand(o, "done")
}

func resultUnpaid(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 2))
	f.move(o.ID, order.PaySuccess)
	f.offer()
	f.report(o, wire.DispenseLine{SKU: "cola", State: wire.Failed})
	f.wantRefunds(o, nil)
	f.wantStock("cola", 10, 0, 0)
	f.wantLine(o, "cola", order.LineFailed, 0)
}

func slotNews(t *testing.T, f *Fixture) {
	epoch := f.ID()
	news := func(seq int64, fault string) (ledger.Fact, string) {
		fact := f.factAt(cabinet, ledger.SlotFault)
		fact.Epoch, fact.Seq, fact.Body = epoch, seq, wire.Encode(wire.Fact{Kind: wire.FactSlotFault, Slot: "chips", Fault: fault})
		return fact, fault
	}
	for _, c := range []struct {
		seq   int64
		fault string
		bad   bool
	}{{3, "jam", true}, {3, "jam", true}, {7, "", false}, {5, "jam again", false}, {9, "door of the slot", true}} {
		fact, fault := news(c.seq, c.fault)
		f.ok(f.RecordSlotFault(f.ctx, fact, "chips", fault))
		f.ok(f.RecordSlotFault(f.ctx, fact, "chips", fault))
		if c.bad {
			f.wantFaults("C1/chips/chips")
			f.wantCases(order.CaseSlotFault)
		} else {
			f.wantFaults()
			f.wantCases()
		}
	}
}

func slotFreed(t *testing.T, f *Fixture) {
	g := f.log(cabinet)
	failed := func() (ledger.Fact, wire.Dispense) {
		o := f.paid(line("chips", 1))
		f.offer()
		fact, d := g.report(o, wire.DispenseLine{SKU: "chips", State: wire.Failed})
		fact.Body = wire.Encode(wire.Fact{Kind: wire.FactDispense, Dispense: &d})
		return fact, d
	}
	free := func() ledger.Fact {
		fact := g.fact(ledger.SlotFault)
		fact.Body = wire.Encode(wire.Fact{Kind: wire.FactSlotFault, Slot: "chips"})
		return fact
	}
	jam, d := failed()
	freed := free()
	f.ok(f.RecordSlotFault(f.ctx, freed, "chips", "")) // its news overtook the jam's
	f.ok(f.RecordDispense(f.ctx, jam, d))
	f.wantFaults()
	f.settleAll()

	freed = free()
	jam, d = failed()
	f.ok(f.RecordDispense(f.ctx, jam, d))
	f.ok(f.RecordSlotFault(f.ctx, freed, "chips", "")) // of before the jam
	f.wantFaults("C1/chips/chips")
	f.settleAll()
}

func resultDirect(t *testing.T, f *Fixture) {
	f.Ledger = f.direct()
	o := f.order(line("cola", 3))
	f.ok(f.PlaceSync(f.ctx, o, items(o, 0)))
	f.capture(f.open(o, "sandbox"))
	f.wantStock("cola", 7, 0, 3)
	f.offer()
	f.report(o, wire.DispenseLine{SKU: "cola", State: wire.Failed, Units: 1})
	f.wantStock("cola", 9, 0, 1)
	f.wantRefunds(o, map[string]int64{"cola": 200})
	f.wantBacklog(outbox.KindStock, 0)
	f.wantBacklog(outbox.KindRedis, 0)
	f.wantBacklog(outbox.KindCommand, 0)
	f.count1(ledger.Count{Fact: f.factAt(cabinet, ledger.Stocktake), Counts: []wire.Count{{SKU: "cola", Units: 4}}})
	f.wantStock("cola", 4, 0, 1)
}

func shortageDirect(t *testing.T, f *Fixture) {
	f.Ledger = f.direct()
	o := f.order(line("cola", 3))
	f.ok(f.PlaceSync(f.ctx, o, items(o, 0)))
	f.capture(f.open(o, "sandbox"))
	f.ok(f.Record(f.ctx, f.factAt(cabinet, statement.Sale, wire.Line{SKU: "cola", Qty: 8})))
	f.wantStock("cola", 2, 0, 8)
	f.wantRefunds(o, map[string]int64{"cola": 300})
	f.wantCommand(o, "withdrawn")
	f.wantBacklog(outbox.KindRefund, 1)
}
