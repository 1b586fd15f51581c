package ledgertest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/shared/money"
)

func openings() []promise {
	return []promise{
		{"a payment is opened once per order and provider", openOnce},
		{"only a hold can be paid", openHolds},
		{"a charge that is closed is not open", closeCharge},
		{"a dispute calls a person, and the provider's own word ends the asking", dispute},
		{"a callback is kept once, with the row that settles it", keepNotice},
		{"money that belongs to nothing known becomes a case", abandonNotice},
		{"who waits for an order is there, for a while", sessionsLive},
	}
}

// open opens a payment of an order.
func (f *Fixture) open(o order.Order, provider string) payment.Payment {
	f.t.Helper()
	p, _, err := f.OpenPayment(f.ctx, o.ID, provider)
	f.ok(err)
	return p
}

func (f *Fixture) paymentOf(id string) payment.Payment {
	f.t.Helper()
	p, err := f.Payment(f.ctx, id)
	f.ok(err)
	return p
}

// movements are "kind amount" of an order's money.
func (f *Fixture) movements(id string) (out []string) {
	f.t.Helper()
	ms, err := f.Money(f.ctx, id)
	f.ok(err)
	for _, m := range ms {
		out = append(out, string(m.Kind)+" "+m.Money.String())
	}
	return out
}

func openOnce(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 2))
	var ids [8]string
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			p, held, err := f.OpenPayment(f.ctx, o.ID, "sandbox")
			if err != nil || held.ID != o.ID {
				t.Errorf("got %+v, %v", held, err)
			}
			ids[i] = p.ID
		})
	}
	wg.Wait()
	if s := slices.Compact(ids[:]); len(s) != 1 {
		t.Errorf("opened %v", s)
	}
	p := f.paymentOf(ids[0])
	if p.Status != payment.StatusOpen || p.TradeNo != payment.TradeNo(o.ID) || p.Amount != (money.Money{Minor: 200, Currency: "EUR"}) {
		t.Errorf("it is %+v", p)
	}
	other := f.open(o, "wechat")
	if got := f.movements(o.ID); !slices.Equal(got, []string{"authorised 2.00 EUR", "authorised 2.00 EUR"}) || other.ID == p.ID {
		t.Errorf("movements %v", got)
	}
	f.wantBacklog(outbox.KindCheck, 2)
	if slices.ContainsFunc(f.Fed(), func(r outbox.Row) bool { return r.Kind == outbox.KindCheck }) {
		t.Error("a provider is asked at once about a charge that nobody can have paid")
	}
	claim := func() int {
		rows, err := f.Claim(f.ctx, outbox.KindCheck, 10, func(int) time.Duration { return time.Minute })
		f.ok(err)
		return len(rows)
	}
	f.Pass(14 * time.Second)
	if n := claim(); n != 0 {
		t.Errorf("%d are asked about too early", n)
	}
	f.Pass(time.Second)
	if n := claim(); n != 2 {
		t.Errorf("%d are asked about in time", n)
	}
	f.settleAll()
}

func openHolds(t *testing.T, f *Fixture) {
	for _, s := range order.Statuses {
		o := f.inState(s)
		_, _, err := f.OpenPayment(f.ctx, o.ID, "sandbox")
		var state *order.StateError
		if s == order.PreReserved && err != nil || s != order.PreReserved && !errors.As(err, &state) {
			t.Errorf("%s: %v", s, err)
		}
		if s == order.Init {
			f.move(o.ID, order.PreDeduct)
		}
	}
	if _, _, err := f.OpenPayment(f.ctx, f.ID(), "sandbox"); !errors.Is(err, order.ErrUnknown) {
		t.Errorf("no order: %v", err)
	}
	f.settleAll()
}

func closeCharge(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 1))
	p := f.open(o, "sandbox")
	q := f.open(o, "wechat")
	f.ok(f.ClosePayment(f.ctx, p.ID))
	f.ok(f.ClosePayment(f.ctx, p.ID))
	open, err := f.OpenPayments(f.ctx, o.ID, f.ID())
	f.ok(err)
	if len(open) != 1 || open[0].ID != q.ID {
		t.Errorf("open are %+v", open)
	}
	if got := f.open(o, "sandbox"); got.ID != p.ID || got.Status != payment.StatusClosed {
		t.Errorf("opened again it is %+v", got)
	}
	f.capture(q)
	f.ok(f.ClosePayment(f.ctx, q.ID))
	if got := f.paymentOf(q.ID); got.Status != payment.StatusPaid {
		t.Errorf("a paid one is %s", got.Status)
	}
	f.settleAll()
}

func dispute(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 1))
	p := f.open(o, "sandbox")
	f.ok(f.DisputePayment(f.ctx, p.ID, "0.99 EUR arrived", false))
	if got := f.paymentOf(p.ID); got.Status != payment.StatusOpen {
		t.Errorf("it is %s", got.Status)
	}
	for range 2 {
		f.ok(f.DisputePayment(f.ctx, p.ID, "0.99 EUR arrived", true))
	}
	if got := f.paymentOf(p.ID); got.Status != payment.StatusDisputed {
		t.Errorf("it is %s", got.Status)
	}
	if n := f.count("SELECT COUNT(*) FROM trade_case WHERE kind = 'payment_mismatch' AND subject = ?", p.ID); n != 1 {
		t.Errorf("%d cases", n)
	}
	if got := f.capture(p); got != order.CapturedPays {
		t.Errorf("the right money after all: %s", got)
	}
	f.settleAll()
}

func keepNotice(t *testing.T, f *Fixture) {
	n := payment.Notice{ID: "n1", TradeNo: payment.TradeNo(f.ID()), Charged: payment.Charged{State: payment.Paid, Amount: money.Money{Minor: 5, Currency: "EUR"}, Merchant: "m", Ref: "r", PaidAt: f.Now()}}
	var seen [8]bool
	var wg sync.WaitGroup
	for i := range seen {
		wg.Go(func() {
			var err error
			if seen[i], err = f.KeepNotice(f.ctx, "sandbox", n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	fresh := 0
	for _, s := range seen {
		if !s {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("kept %d times", fresh)
	}
	f.wantBacklog(outbox.KindNotice, 1)
	k, err := f.Notice(f.ctx, "sandbox", "n1")
	f.ok(err)
	if k.Outcome != "" || k.Amount != n.Amount || k.TradeNo != n.TradeNo || !k.PaidAt.Equal(n.PaidAt) || !k.ReceivedAt.Equal(f.Now()) {
		t.Errorf("kept is %+v", k)
	}
	f.ok(f.FinishNotice(f.ctx, "sandbox", "n1", "paid", f.rows(outbox.KindNotice)[0].ID))
	f.ok(f.FinishNotice(f.ctx, "sandbox", "n1", "again", "no row"))
	if k, err = f.Notice(f.ctx, "sandbox", "n1"); err != nil || k.Outcome != "paid" {
		t.Errorf("settled is %+v, %v", k, err)
	}
	f.wantBacklog(outbox.KindNotice, 0)
	// The same id at another provider is another callback; one that is about
	// something else than money that came needs no row.
	if seen, err := f.KeepNotice(f.ctx, "wechat", payment.Notice{ID: "n1", TradeNo: "refund \xff of nothing of ours that is rather long"}); seen || err != nil {
		t.Errorf("seen %v, %v", seen, err)
	}
	f.wantBacklog(outbox.KindNotice, 0)
	if _, err := f.Notice(f.ctx, "wechat", "n2"); !errors.Is(err, payment.ErrUnknown) {
		t.Errorf("nobody sent it: %v", err)
	}
}

func abandonNotice(t *testing.T, f *Fixture) {
	for _, id := range []string{"n1", "n2"} { // of one charge: one case
		_, err := f.KeepNotice(f.ctx, "sandbox", payment.Notice{ID: id, TradeNo: "somebody else's \x01", Charged: payment.Charged{State: payment.Paid}})
		f.ok(err)
		k, err := f.Notice(f.ctx, "sandbox", id)
		f.ok(err)
		f.ok(f.AbandonNotice(f.ctx, k, "no payment has this trade number", f.rows(outbox.KindNotice)[0].ID))
	}
	f.wantBacklog(outbox.KindNotice, 0)
	if n := f.count("SELECT COUNT(*) FROM trade_case WHERE kind = 'payment_unknown' AND status = 'open'"); n != 1 {
		t.Errorf("%d cases", n)
	}
}

func sessionsLive(t *testing.T, f *Fixture) {
	id, other := f.ID(), f.ID()
	want := func(live bool) {
		t.Helper()
		if got, err := f.Live(f.ctx, id, 45*time.Second); got != live || err != nil {
			t.Errorf("live %v, %v", got, err)
		}
	}
	want(false)
	f.ok(f.Seen(f.ctx, other))
	want(false)
	f.ok(f.Seen(f.ctx, id))
	want(true)
	f.Pass(9 * time.Second)
	f.ok(f.Seen(f.ctx, id)) // too soon to be written again
	f.Pass(37 * time.Second)
	want(false)
	f.ok(f.Seen(f.ctx, id))
	want(true)
	f.Pass(time.Minute)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := f.Seen(f.ctx, id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want(true)
}
