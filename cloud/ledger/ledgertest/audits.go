package ledgertest

import (
	"slices"
	"strconv"
	"testing"
	"time"

	auditor "vendline/cloud/audit"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func audits() []promise {
	return []promise{
		{"an audit names each difference in the books, and nothing else", auditNames},
		{"an audit leaves what is still under way alone", auditUnderWay},
		{"an audit opens each case once, and none again that is closed", auditCases},
		{"an audit keeps each day's totals", auditDays},
		{"an audit names a bounded number, and says that there is more", auditBounded},
	}
}

// audited are the differences that the ledger finds in itself.
func (f *Fixture) audited() (names []string) {
	f.t.Helper()
	got, err := f.Audit(f.ctx, f.Now().Add(-48*time.Hour), 10)
	f.ok(err)
	for _, d := range got.Differences {
		names = append(names, d.Rule+" "+d.Subject)
	}
	return names
}

func (f *Fixture) wantAudited(when string, want ...string) {
	f.t.Helper()
	if got := f.audited(); !slices.Equal(got, want) {
		f.t.Errorf("%s: %q, want %q", when, got, want)
	}
}

// books are an order of each kind, a fact, and one that is refunded, all applied.
func (f *Fixture) books() (held, paid, back order.Order, fact string) {
	f.t.Helper()
	held = f.place(line("cola", 2))
	f.move(f.place(line("chips", 1)).ID, order.Timeout)
	paid, back = f.paid(line("cola", 1), line("chips", 2)), f.paid(line("chips", 1))
	f.giveUp(back)
	fact = f.record(statement.Restock, wire.Line{SKU: "cola", Qty: 3}).ID
	f.settleAll()
	return held, paid, back, fact
}

func auditNames(_ *testing.T, f *Fixture) {
	held, paid, back, fact := f.books()
	f.wantAudited("at first")
	var payment, refund string
	f.ok(f.DB.QueryRowContext(f.ctx, "SELECT payment_id FROM trade_payment WHERE order_sn = ?", paid.ID).Scan(&payment))
	f.ok(f.DB.QueryRowContext(f.ctx, "SELECT refund_id FROM trade_refund WHERE order_sn = ?", back.ID).Scan(&refund))
	day := f.Now().Format(time.DateOnly) + "/EUR"
	asked := f.open(held, "sandbox").ID
	nobody := f.ID()
	for _, c := range []struct {
		spoil, mend string
		want        []string
	}{
		{"UPDATE trade_sku_stock SET available = available + 1, locked = locked - 1 WHERE sku_id = 'cola'",
			"UPDATE trade_sku_stock SET available = available - 1, locked = locked + 1 WHERE sku_id = 'cola'", []string{"stock_locked C1/cola"}},
		{"UPDATE trade_sku_stock SET sold = sold + 2, total = total + 2 WHERE sku_id = 'chips'",
			"UPDATE trade_sku_stock SET sold = sold - 2, total = total - 2 WHERE sku_id = 'chips'", []string{"stock_sold C1/chips"}},
		{"UPDATE trade_stock_deduct_log SET version = version + 1 WHERE order_sn = '" + held.ID + "'",
			"UPDATE trade_stock_deduct_log SET version = version - 1 WHERE order_sn = '" + held.ID + "'", []string{"order_log " + held.ID + "/cola"}},
		{"UPDATE trade_order_line SET qty = qty + 1 WHERE order_sn = '" + held.ID + "'",
			"UPDATE trade_order_line SET qty = qty - 1 WHERE order_sn = '" + held.ID + "'", []string{"order_log " + held.ID + "/cola"}},
		{"UPDATE trade_fact_line SET qty = qty + 1 WHERE fact_id = '" + fact + "'",
			"UPDATE trade_fact_line SET qty = qty - 1 WHERE fact_id = '" + fact + "'", []string{"fact_log " + fact + "/cola"}},
		{"INSERT INTO trade_stock_deduct_log (order_sn, sku_id, cabinet_id, qty, status, version, changed_at) VALUES ('" + nobody + "', 'cola', 'C1', 1, 'ROLLBACKED', 2, " + strconv.FormatInt(f.Now().UnixMilli(), 10) + ")",
			"DELETE FROM trade_stock_deduct_log WHERE order_sn = '" + nobody + "'", []string{"log_of_nobody " + nobody + "/cola"}},
		{"UPDATE money_movement SET amount = amount - 5 WHERE kind = 'captured' AND ref = '" + payment + "'",
			"UPDATE money_movement SET amount = amount + 5 WHERE kind = 'captured' AND ref = '" + payment + "'", []string{"captured_unbooked " + payment, "day_money " + day}},
		{"UPDATE money_movement SET ref = 'x' WHERE kind = 'captured' AND ref = '" + payment + "'",
			"UPDATE money_movement SET ref = '" + payment + "' WHERE ref = 'x'", []string{"captured_unbooked " + payment, "captured_of_nothing x"}},
		{"UPDATE trade_payment SET amount = amount + 5 WHERE payment_id = '" + payment + "'",
			"UPDATE trade_payment SET amount = amount - 5 WHERE payment_id = '" + payment + "'", []string{"captured_unbooked " + payment, "paid_otherwise " + payment, "day_money " + day}},
		{"UPDATE trade_refund SET status = 'done' WHERE refund_id = '" + refund + "'",
			"UPDATE trade_refund SET status = 'pending' WHERE refund_id = '" + refund + "'", []string{"refund_unbooked " + refund, "day_money " + day}},
		{"UPDATE trade_refund SET amount = amount + 500 WHERE refund_id = '" + refund + "'",
			"UPDATE trade_refund SET amount = amount - 500 WHERE refund_id = '" + refund + "'", []string{"refunded_beyond ", "line_paid_back_beyond " + back.ID + "/chips"}},
		{"UPDATE trade_refund SET amount = amount - 1 WHERE refund_id = '" + refund + "'",
			"UPDATE trade_refund SET amount = amount + 1 WHERE refund_id = '" + refund + "'", []string{"line_unpaid_back " + back.ID + "/chips"}},
		{"UPDATE local_msg SET kind = 'gone' WHERE kind = 'refund'", "UPDATE local_msg SET kind = 'refund' WHERE kind = 'gone'", []string{"refund_silent " + refund}},
		{"UPDATE local_msg SET kind = 'gone' WHERE kind = 'check'", "UPDATE local_msg SET kind = 'check' WHERE kind = 'gone'", []string{"payment_silent " + asked}},
		{"UPDATE trade_payment SET status = 'open' WHERE payment_id = '" + payment + "'", "UPDATE trade_payment SET status = 'paid' WHERE payment_id = '" + payment + "'",
			[]string{"captured_of_nothing " + payment, "day_money " + day}},
		{"UPDATE trade_payment SET status = 'surplus' WHERE payment_id = '" + payment + "'", "UPDATE trade_payment SET status = 'paid' WHERE payment_id = '" + payment + "'", []string{"surplus_silent " + payment}},
		{"UPDATE trade_order_line SET dropped = 9 WHERE order_sn = '" + paid.ID + "' AND sku_id = 'cola'",
			"UPDATE trade_order_line SET dropped = 0 WHERE order_sn = '" + paid.ID + "'", []string{"line_dropped_beyond " + paid.ID + "/cola", "line_paid_back_beyond " + paid.ID + "/cola"}},
	} {
		f.exec(c.spoil)
		for i, w := range c.want {
			if w == "refunded_beyond " {
				var id string
				f.ok(f.DB.QueryRowContext(f.ctx, "SELECT payment_id FROM trade_refund WHERE refund_id = ?", refund).Scan(&id))
				c.want[i] += id
			}
		}
		f.wantAudited(c.spoil, c.want...)
		f.exec(c.mend)
	}
	f.wantAudited("in the end")
}

func auditUnderWay(_ *testing.T, f *Fixture) {
	f.place(line("cola", 2))
	f.wantAudited("placed, and stock is still to hear of it")
	f.record(statement.Restock, wire.Line{SKU: "cola", Qty: 3})
	o := f.paid(line("chips", 1))
	f.wantAudited("recorded and paid")
	f.giveUp(o)
	f.wantAudited("on its way back")
	f.settleAll()
	f.wantAudited("applied")
}

func auditCases(t *testing.T, f *Fixture) {
	held, _, _, _ := f.books()
	f.exec("UPDATE trade_stock_deduct_log SET version = version + 1 WHERE order_sn = ?", held.ID)
	for range 2 {
		_, err := auditor.Run(f.ctx, f.Ledger, f.Now())
		f.ok(err)
	}
	var books []order.Case
	all, err := f.Cases(f.ctx, false, 100)
	f.ok(err)
	for _, c := range all {
		if c.Kind == order.CaseBooks {
			books = append(books, c)
		}
	}
	if len(books) != 1 || books[0].Order != held.ID || books[0].Subject != "order_log/"+held.ID+"/cola" || books[0].Cabinet != cabinet {
		t.Fatalf("cases %+v", books)
	}
	f.ok(f.CloseCase(f.ctx, books[0].ID, "seen"))
	_, err = auditor.Run(f.ctx, f.Ledger, f.Now())
	f.ok(err)
	if n := f.count("SELECT COUNT(*) FROM trade_case WHERE kind = 'books'"); n != 1 {
		t.Errorf("%d cases", n)
	}
	f.exec("UPDATE trade_stock_deduct_log SET version = version - 1 WHERE order_sn = ?", held.ID)
}

func auditDays(t *testing.T, f *Fixture) {
	f.books()
	first := f.Now()
	f.Pass(24 * time.Hour)
	f.paid(line("cola", 1))
	f.settleAll()
	for range 2 {
		f.wantAudited("both days")
	}
	got, err := f.Days(f.ctx, 10)
	f.ok(err)
	want := []auditor.Day{
		{Day: first.Add(24 * time.Hour).Truncate(24 * time.Hour), Currency: "EUR", Orders: 1, Units: 1, Consumed: 1, Captured: 100, At: f.Now()},
		{Day: first.Truncate(24 * time.Hour), Currency: "EUR", Orders: 4, Units: 7, Consumed: 2, Captured: 400, At: f.Now()},
	}
	if !slices.Equal(got, want) {
		t.Errorf("days %+v, want %+v", got, want)
	}
}

func auditBounded(t *testing.T, f *Fixture) {
	for range 4 {
		f.place(line("cola", 1))
	}
	f.settleAll()
	f.exec("UPDATE trade_stock_deduct_log SET version = version + 1")
	got, err := f.Audit(f.ctx, f.Now().Add(-time.Hour), 3)
	f.ok(err)
	if len(got.Differences) != 3 || !got.More {
		t.Errorf("%d differences, more %v", len(got.Differences), got.More)
	}
	f.exec("UPDATE trade_stock_deduct_log SET version = version - 1")
}
