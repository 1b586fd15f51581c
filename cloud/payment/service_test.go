package payment_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/shared/wire"
)

const quick = 5 * time.Second

func notification(id, body string, retry bool) payment.Notification {
	h := http.Header{"Id": {id}}
	if retry {
		h.Set("Retry", "yes")
	}
	return payment.Notification{Header: h, Body: []byte(body)}
}

func TestStartAnnouncesTheOrdersOwnChargeOnce(t *testing.T) {
	r := open(t)
	id := r.hold()
	first := r.started(id)
	c := r.fake.charges[0]
	if c.TradeNo != payment.TradeNo(id) || c.Amount != right.Amount || c.NotifyURL != "https://vend.example/v1/payments/fake/notify" || c.Description != "Vendline C1" || !c.ExpiresAt.Equal(first.DueBy) {
		t.Errorf("announced %+v", c)
	}
	if again := r.started(id); again.ID != first.ID || r.fake.charges[1] != c {
		t.Errorf("again %+v, announced %+v", again, r.fake.charges[1])
	}
	if _, err := r.Start(t.Context(), id, "shells"); !errors.Is(err, payment.ErrNoProvider) {
		t.Errorf("no such provider: %v", err)
	}
}

func TestStartSaysWhyThereIsNoCharge(t *testing.T) {
	for name, c := range map[string]struct {
		create error
		code   wire.Code
	}{"refused": {payment.ErrRefused, wire.CodeOrderState}, "no answer": {errAway, wire.CodeUnavailable}} {
		r := open(t)
		r.fake.create = func() (payment.Prepay, error) { return payment.Prepay{}, c.create }
		var no *order.Refusal
		if _, err := r.Start(t.Context(), r.hold(), "fake"); !errors.As(err, &no) || no.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := open(t)
	id := r.hold()
	r.fake.create = func() (payment.Prepay, error) { return payment.Prepay{}, payment.ErrPaid }
	r.fake.query = func() (payment.Charged, error) { return right, nil }
	var state *order.StateError
	if _, err := r.Start(t.Context(), id, "fake"); !errors.As(err, &state) || state.Order.Status != order.Consumed {
		t.Errorf("it was paid already: %v", err)
	}
	r.want(id, order.Consumed, "paid")
}

// The order may end while its charge is being created: then nobody may pay it.
func TestAChargeDoesNotOutliveAnOrderThatEndedMeanwhile(t *testing.T) {
	r := open(t)
	id := r.hold()
	closed := 0
	r.fake.close = func() error { closed++; return nil }
	r.fake.create = func() (payment.Prepay, error) {
		r.fake.mu.Unlock()
		defer r.fake.mu.Lock()
		r.ok(r.EndCharges(t.Context(), id))
		r.end(id)
		return payment.Prepay{URL: "fake://late"}, nil
	}
	var no *order.Refusal
	if s, err := r.Start(t.Context(), id, "fake"); !errors.As(err, &no) || closed != 2 {
		t.Errorf("started %+v, %v; closed %d times", s, err, closed)
	}
}

func TestACallbackIsKeptBeforeItIsAnswered(t *testing.T) {
	r := open(t)
	id := r.hold()
	r.started(id)
	for _, c := range []struct {
		name   string
		n      payment.Notification
		status int
		err    error
	}{
		{"forged", notification("a", "forged", false), 0, payment.ErrUnsigned},
		{"signed, and no sense", notification("a", "garbled", false), 503, nil},
		{"good", notification("a", payment.TradeNo(id), false), 200, nil},
		{"a replay", notification("a", payment.TradeNo(id), false), 0, payment.ErrUnsigned},
		{"repeated by its provider", notification("a", payment.TradeNo(id), true), 200, nil},
		{"with an id that is too long", notification(string(make([]byte, 500)), payment.TradeNo(id), false), 200, nil},
		{"the same", notification(string(make([]byte, 500)), payment.TradeNo(id), false), 0, payment.ErrUnsigned},
	} {
		if a, err := r.Notify(t.Context(), "fake", c.n); a.Status != c.status || !errors.Is(err, c.err) {
			t.Errorf("%s: %d, %v; want %d, %v", c.name, a.Status, err, c.status, c.err)
		}
	}
	r.pass(quick)
	if n := r.carry(outbox.KindNotice, quick); n != 2 {
		t.Errorf("%d callbacks to settle", n)
	}
	r.want(id, order.Consumed, "paid")
	r.books.Close()
	if a, err := r.Notify(t.Context(), "fake", notification("z", payment.TradeNo(id), false)); a.Status != 503 || err != nil {
		t.Errorf("with the database away: %d, %v", a.Status, err)
	}
}

func TestACallbackMayOvertakeItsOrder(t *testing.T) {
	r := open(t)
	id := r.hold() // without a charge: nobody knows of its payment yet
	_, err := r.Notify(t.Context(), "fake", notification("a", payment.TradeNo(id), false))
	r.ok(err)
	r.pass(quick)
	r.carry(outbox.KindNotice, quick)
	r.want(id, order.PreReserved, "")
	r.started(id)
	r.pass(quick)
	if n := r.carry(outbox.KindNotice, quick); n != 1 {
		t.Fatal("it was not parked")
	}
	r.want(id, order.Consumed, "paid")
	r.pass(time.Hour)
	if n := r.carry(outbox.KindNotice, quick); n != 0 {
		t.Error("a settled one comes again")
	}
}

func TestMoneyForNothingWeKnowBecomesACase(t *testing.T) {
	for name, wait := range map[string]time.Duration{"after sixteen looks": 10 * time.Minute, "after a day": 25 * time.Hour} {
		r := open(t)
		_, err := r.Notify(t.Context(), "fake", notification("a", payment.TradeNo(r.id()), false))
		r.ok(err)
		looks := 0
		for len(r.cases()) == 0 && looks < 20 {
			r.pass(wait)
			looks += r.carry(outbox.KindNotice, quick)
		}
		if want := map[time.Duration]int{10 * time.Minute: 16, 25 * time.Hour: 1}[wait]; looks != want || !slices.Equal(r.cases(), []order.CaseKind{order.CasePaymentUnknown}) {
			t.Errorf("%s: %d looks, cases %v", name, looks, r.cases())
		}
	}
}

func TestALostCallbackIsFoundByAsking(t *testing.T) {
	r := open(t)
	id := r.hold()
	r.started(id)
	r.pass(15 * time.Second)
	if n := r.carry(outbox.KindCheck, 30*time.Second); n != 1 || r.fake.queries != 1 {
		t.Errorf("%d rows, asked %d times", n, r.fake.queries)
	}
	r.fake.query = func() (payment.Charged, error) { return payment.Charged{}, errAway }
	r.pass(30 * time.Second)
	r.carry(outbox.KindCheck, 30*time.Second)
	r.want(id, order.PreReserved, "")
	r.fake.query = func() (payment.Charged, error) { return right, nil }
	r.pass(30 * time.Second)
	r.carry(outbox.KindCheck, 30*time.Second)
	r.want(id, order.Consumed, "paid")
	r.pass(time.Hour)
	if n := r.carry(outbox.KindCheck, quick); n != 0 {
		t.Error("asked about what is paid")
	}
}

func TestAChargeThatNobodyAnswersForIsACaseAfterADay(t *testing.T) {
	r := open(t)
	id := r.hold()
	r.started(id)
	r.fake.query = func() (payment.Charged, error) { return payment.Charged{}, errAway }
	for range 23 {
		r.pass(time.Hour)
		r.carry(outbox.KindCheck, quick)
	}
	if got := r.cases(); len(got) != 0 {
		t.Errorf("cases %v", got)
	}
	r.pass(2 * time.Hour)
	r.carry(outbox.KindCheck, quick)
	r.pass(time.Hour)
	r.carry(outbox.KindCheck, quick)
	if n := r.carry(outbox.KindCheck, quick); n != 0 || !slices.Equal(r.cases(), []order.CaseKind{order.CasePaymentMismatch}) {
		t.Errorf("%d rows, cases %v", n, r.cases())
	}
	_, err := r.Notify(t.Context(), "fake", notification("a", payment.TradeNo(id), false))
	r.ok(err)
	r.pass(quick)
	r.carry(outbox.KindNotice, quick)
	r.want(id, order.Consumed, "paid") // its hold had not ended here
}

func TestAQueryThatTellsAnotherAmountPaysNothing(t *testing.T) {
	r := open(t)
	id := r.hold()
	r.started(id)
	wrong := right
	wrong.Amount.Minor--
	r.fake.query = func() (payment.Charged, error) { return wrong, nil }
	r.pass(time.Minute)
	r.carry(outbox.KindCheck, quick)
	r.want(id, order.PreReserved, "")
	if got := r.cases(); !slices.Equal(got, []order.CaseKind{order.CasePaymentMismatch}) {
		t.Errorf("cases %v", got)
	}
	r.ok(r.EndCharges(t.Context(), id)) // and keeps no hold
}

// Rolled back without the provider's word, an order leaves a charge behind.
func TestAChargeThatOutlivedItsOrderIsClosedOrTakenLate(t *testing.T) {
	r := open(t)
	unpaid, paid := r.hold(), r.hold()
	r.started(unpaid)
	r.started(paid)
	r.end(unpaid)
	r.end(paid)
	r.fake.close = func() error { return nil }
	r.pass(time.Minute)
	r.carry(outbox.KindCheck, quick)
	if open, err := r.books.OpenPayments(t.Context(), unpaid, paid); len(open) != 0 || err != nil {
		t.Errorf("%d are open, %v", len(open), err)
	}
	r = open(t)
	id := r.hold()
	r.started(id)
	r.end(id)
	r.fake.close = func() error {
		r.fake.query = func() (payment.Charged, error) { return right, nil }
		return payment.ErrPaid
	}
	r.pass(time.Minute)
	r.carry(outbox.KindCheck, quick)
	r.want(id, order.RolledBack, "paid")
	r.pass(quick)
	r.carry(outbox.KindLate, quick)
	r.want(id, order.RolledBack, "refunding")
	r.pass(quick)
	r.carry(outbox.KindRefund, quick)
	r.want(id, order.RolledBack, "refunded")
}

// late is an order whose money came after its end.
func (r *rig) late() string {
	r.t.Helper()
	id := r.hold()
	r.started(id)
	r.end(id)
	_, err := r.Notify(r.t.Context(), "fake", notification(id, payment.TradeNo(id), false))
	r.ok(err)
	r.pass(quick)
	r.carry(outbox.KindNotice, quick)
	r.pass(quick)
	return id
}

func TestLateMoneyVendsForWhoIsThereAndGoesBackElse(t *testing.T) {
	r := open(t)
	id := r.late()
	r.ok(r.books.Seen(t.Context(), id))
	r.pass(44 * time.Second)
	r.carry(outbox.KindLate, quick)
	r.want(id, order.RolledBack, "refunding") // he is there, but it took too long

	r = open(t)
	id = r.late()
	r.ok(r.books.Seen(t.Context(), id))
	r.carry(outbox.KindLate, quick)
	r.want(id, order.Consumed, "paid")

	r = open(t)
	id = r.late()
	r.ok(r.books.Seen(t.Context(), id))
	for range 5 { // somebody else takes all
		r.hold()
	}
	r.carry(outbox.KindLate, quick)
	r.want(id, order.RolledBack, "refunding")
}

func TestARefundEndsDoneOrAsACase(t *testing.T) {
	for name, c := range map[string]struct {
		refund   func() (payment.RefundState, error)
		attempts int
	}{
		"refused":          {func() (payment.RefundState, error) { return "", payment.ErrRefused }, 1},
		"never answered":   {func() (payment.RefundState, error) { return "", errAway }, payment.MaxAttempts},
		"pending for ever": {func() (payment.RefundState, error) { return payment.RefundPending, nil }, payment.MaxAttempts},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t)
			id := r.late()
			r.carry(outbox.KindLate, quick)
			r.fake.refund = c.refund
			attempts := 0
			for len(r.cases()) == 0 && attempts < 20 {
				r.pass(10 * time.Minute)
				attempts += r.carry(outbox.KindRefund, quick)
			}
			if attempts != c.attempts || !slices.Equal(r.cases(), []order.CaseKind{order.CaseRefundStuck}) {
				t.Errorf("%d attempts, cases %v", attempts, r.cases())
			}
			r.want(id, order.RolledBack, "refunding")
			for _, x := range r.fake.refunds {
				if x.ID != r.fake.refunds[0].ID || x.Amount != right.Amount || x.Total != right.Amount || x.TradeNo != payment.TradeNo(id) {
					t.Errorf("asked for %+v", x)
				}
			}
			a, err := r.books.Account(t.Context(), id)
			r.ok(err)
			r.ok(r.books.RetryRefund(t.Context(), a.Returns[0].ID))
			r.fake.refund = nil
			r.pass(time.Minute)
			r.carry(outbox.KindRefund, quick)
			r.want(id, order.RolledBack, "refunded")
		})
	}
}

// A provider that hangs costs a crowd of orders a few waits, not one each.
func TestADeadProviderIsNotAskedByEveryone(t *testing.T) {
	r := open(t)
	id := r.hold()
	r.started(id)
	r.fake.query = func() (payment.Charged, error) { return payment.Charged{}, errAway }
	for range 100 {
		if err := r.EndCharges(t.Context(), id); err == nil {
			t.Fatal("it was told that the charge is closed")
		}
	}
	if r.fake.queries > 10 {
		t.Errorf("asked %d times", r.fake.queries)
	}
	r.started(id) // a shopper who waits is let through
	r.fake.query = nil
	r.pass(5 * time.Second)
	r.ok(r.EndCharges(t.Context(), id))
}
