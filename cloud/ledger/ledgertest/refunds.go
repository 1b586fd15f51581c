package ledgertest

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
)

func refunds() []promise {
	return []promise{
		{"a refund that is done is booked once, with its row", refundDone},
		{"a line that is paid back says so", refundLine},
		{"a refund that never works ends in a case, and an operator may try again", refundStuck},
		{"a refund that is refused is a case at once", refundRefused},
		{"refunds never exceed what was captured", refundTooMuch},
	}
}

// surplus is late money that goes back: its refund, and the row of it.
func (f *Fixture) surplus() (order.Order, payment.Payment, payment.Return, string) {
	f.t.Helper()
	o, p := f.paidOpen(order.RolledBack)
	f.capture(p)
	f.ok(f.ReturnSurplus(f.ctx, p.ID, "nobody is there", f.rows(outbox.KindLate)[0].ID))
	row := f.rows(outbox.KindRefund)[0]
	r, err := f.Return(f.ctx, string(row.Payload))
	f.ok(err)
	return o, p, r, row.ID
}

func refundDone(t *testing.T, f *Fixture) {
	o, _, r, row := f.surplus()
	if r.Status != payment.ReturnPending || r.Amount.Minor != 100 || r.Order != o.ID || r.SKU != "" {
		t.Errorf("it is %+v", r)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := f.FinishReturn(f.ctx, r.ID, row); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f.wantBacklog(outbox.KindRefund, 0)
	if got := f.movements(o.ID); !slices.Contains(got, "refunded 1.00 EUR") || len(got) != 3 {
		t.Errorf("movements %v", got)
	}
	if stuck, err := f.FailReturn(f.ctx, r.ID, row, "too late", true); stuck || err != nil {
		t.Errorf("a done one is stuck %v, %v", stuck, err)
	}
	a, err := f.Account(f.ctx, o.ID)
	f.ok(err)
	if len(a.Payments) != 1 || len(a.Returns) != 1 || a.Returns[0].Status != payment.ReturnDone || a.Standing() != "refunded" {
		t.Errorf("the account is %+v", a)
	}
	if err := f.FinishReturn(f.ctx, f.ID(), row); !errors.Is(err, payment.ErrUnknown) {
		t.Errorf("no such refund: %v", err)
	}
	f.settleAll()
}

// addLine decides a line's refund as the dispensing side does.
func (f *Fixture) addLine(o order.Order, p payment.Payment, sku string, amount int64) string {
	f.t.Helper()
	id := f.ID()
	f.exec(`INSERT INTO trade_refund (refund_id, payment_id, order_sn, sku_id, amount, currency, status, reason, attempts, last_error, created_at, changed_at)
		VALUES (?,?,?,?,?,'EUR','pending','it did not come out',0,'',0,0)`, id, p.ID, o.ID, sku, amount)
	f.exec("INSERT INTO local_msg (id, kind, shard, payload, attempts, created_at, due_at) VALUES (?,'refund',0,?,0,0,0)", "row-"+id[len(id)-12:], []byte(id))
	return id
}

func refundLine(t *testing.T, f *Fixture) {
	o := f.place(line("chips", 1), line("cola", 2))
	p := f.open(o, "sandbox")
	f.capture(p)
	id := f.addLine(o, p, "cola", 200)
	f.ok(f.FinishReturn(f.ctx, id, f.rows(outbox.KindRefund)[0].ID))
	if got := f.find(o.ID); got.Lines[0].State == order.LineRefunded || got.Lines[1].State != order.LineRefunded {
		t.Errorf("lines %+v", got.Lines)
	}
	a, err := f.Account(f.ctx, o.ID)
	f.ok(err)
	if a.Standing() != "paid" {
		t.Errorf("the money is %s", a.Standing())
	}
	f.settleAll()
}

func refundStuck(t *testing.T, f *Fixture) {
	o, _, r, row := f.surplus()
	for i := range payment.MaxAttempts {
		stuck, err := f.FailReturn(f.ctx, r.ID, row, "away", false)
		f.ok(err)
		if stuck != (i == payment.MaxAttempts-1) {
			t.Fatalf("attempt %d: stuck %v", i+1, stuck)
		}
	}
	f.wantBacklog(outbox.KindRefund, 0)
	open := func() int64 {
		return f.count("SELECT COUNT(*) FROM trade_case WHERE kind = 'refund_stuck' AND subject = ? AND status = 'open'", r.ID)
	}
	if open() != 1 {
		t.Error("nobody was called")
	}
	f.exec("UPDATE trade_case SET status = 'closed'")
	for range 2 {
		f.ok(f.RetryRefund(f.ctx, r.ID))
	}
	f.wantBacklog(outbox.KindRefund, 1)
	row = f.rows(outbox.KindRefund)[0].ID
	if got, err := f.Return(f.ctx, r.ID); err != nil || got.Attempts != 0 || got.Status != payment.ReturnPending {
		t.Errorf("it is %+v, %v", got, err)
	}
	if stuck, err := f.FailReturn(f.ctx, r.ID, row, "the account is closed", true); !stuck || err != nil || open() != 1 {
		t.Errorf("stuck %v, %v, %d cases", stuck, err, open())
	}
	f.ok(f.RetryRefund(f.ctx, r.ID))
	f.ok(f.FinishReturn(f.ctx, r.ID, f.rows(outbox.KindRefund)[0].ID))
	if got := f.movements(o.ID); !slices.Contains(got, "refunded 1.00 EUR") {
		t.Errorf("movements %v", got)
	}
	f.settleAll()
}

func refundRefused(t *testing.T, f *Fixture) {
	o, _, r, row := f.surplus()
	if stuck, err := f.FailReturn(f.ctx, r.ID, row, "no such card", true); !stuck || err != nil {
		t.Errorf("stuck %v, %v", stuck, err)
	}
	a, err := f.Account(f.ctx, o.ID)
	f.ok(err)
	if a.Standing() != "refunding" || a.Returns[0].LastError != "no such card" {
		t.Errorf("the account is %+v", a)
	}
	f.wantBacklog(outbox.KindRefund, 0)
	f.settleAll()
}

func refundTooMuch(t *testing.T, f *Fixture) {
	o, p := f.paidOpen(order.RolledBack)
	f.capture(p)
	f.addLine(o, p, "cola", 30)
	f.ok(f.ReturnSurplus(f.ctx, p.ID, "nobody is there", f.rows(outbox.KindLate)[0].ID))
	f.ok(f.ReturnSurplus(f.ctx, p.ID, "nobody is there", "no row"))
	if n := f.count("SELECT SUM(amount) FROM trade_refund WHERE payment_id = ?", p.ID); n != 100 {
		t.Errorf("%d of 100 go back", n)
	}
	for _, row := range f.rows(outbox.KindRefund) {
		f.ok(f.FinishReturn(f.ctx, string(row.Payload), row.ID))
	}
	f.settleAll()
}
