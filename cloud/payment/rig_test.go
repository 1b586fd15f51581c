package payment_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/shared/money"
	"vendline/shared/wire"
)

// rig is payments over the embedded ledger, with a provider that does as it is told.
type rig struct {
	*payment.Service
	books *ledger.Ledger
	fake  *provider
	t     *testing.T

	mu     sync.Mutex
	now    time.Time
	serial int
}

// provider answers what a test puts in; by default all goes well.
type provider struct {
	mu      sync.Mutex
	query   func() (payment.Charged, error)
	close   func() error
	create  func() (payment.Prepay, error)
	refund  func() (payment.RefundState, error)
	queries int
	refunds []payment.Refund
	charges []payment.Charge
}

func (p *provider) Name() string { return "fake" }
func (p *provider) Create(_ context.Context, c payment.Charge) (payment.Prepay, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.charges = append(p.charges, c)
	if p.create != nil {
		return p.create()
	}
	return payment.Prepay{URL: "fake://" + c.TradeNo}, nil
}
func (p *provider) Query(context.Context, string) (payment.Charged, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queries++
	if p.query != nil {
		return p.query()
	}
	return payment.Charged{State: payment.Unpaid}, nil
}
func (p *provider) Close(context.Context, string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.close != nil {
		return p.close()
	}
	return nil
}
func (p *provider) Refund(_ context.Context, r payment.Refund) (payment.RefundState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refunds = append(p.refunds, r)
	if p.refund != nil {
		return p.refund()
	}
	return payment.RefundDone, nil
}
func (p *provider) Verify(n payment.Notification) (payment.Notice, error) {
	switch string(n.Body) {
	case "forged":
		return payment.Notice{}, payment.ErrUnsigned
	case "garbled":
		return payment.Notice{}, errors.New("good signature, and no sense")
	}
	return payment.Notice{ID: n.Header.Get("Id"), Retry: n.Header.Get("Retry") != "", TradeNo: string(n.Body), Charged: right}, nil
}
func (p *provider) Answer(kept bool) payment.Answer {
	return payment.Answer{Status: map[bool]int{true: 200, false: 503}[kept]}
}

// right is what a provider says when 1.00 EUR was paid.
var right = payment.Charged{State: payment.Paid, Amount: money.Money{Minor: 100, Currency: "EUR"}, Merchant: "m", Ref: "F1"}

var errAway = errors.New("no answer")

func open(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, fake: &provider{}, now: time.UnixMilli(1_800_000_000_000).UTC()}
	var err error
	r.books, err = ledger.Open(t.Context(), ledger.SQLite(), filepath.Join(t.TempDir(), "l.db"), ledger.Options{
		Clock: r.Now, ID: r.id, Token: func() string { return fmt.Sprintf("%012x", r.next()) }, Direct: true,
	})
	r.ok(err)
	t.Cleanup(r.books.Close)
	r.ok(r.books.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 100, Currency: "EUR"}))
	r.ok(r.books.AddCabinet(t.Context(), "C1", map[string]int64{"cola": 5}))
	log := slog.New(slog.DiscardHandler)
	orders := &order.Service{Ledger: r.books, Catalogue: goods{}, Placer: &order.Sync{Ledger: r.books}, Watcher: order.NewWatcher(), Clock: r.Now, Hold: 15 * time.Minute, Log: log}
	r.Service = &payment.Service{Ledger: r.books, Providers: map[string]payment.Provider{"fake": r.fake}, Stock: orders, PublicURL: "https://vend.example", Clock: r.Now, Log: log}
	return r
}

type goods struct{}

func (goods) Product(context.Context, string, string) (order.Offer, bool, error) {
	return order.Offer{Product: order.Product{SKU: "cola", Price: 100, Currency: "EUR"}}, true, nil
}

func (goods) PriceAt(context.Context, string, int64, string) (wire.Price, bool, error) {
	return wire.Price{}, false, nil
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *rig) next() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serial++
	return r.serial
}

func (r *rig) id() string {
	at := r.Now().UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", at>>16, at&0xffff, r.next())
}

// hold is an order of one cola that waits for its money.
func (r *rig) hold() string {
	r.t.Helper()
	orders := r.Stock.(*order.Service)
	o, _, err := orders.Place(r.t.Context(), order.Request{ID: r.id(), Cabinet: "C1", User: "ann", Lines: []wire.Line{{SKU: "cola", Qty: 1}}})
	r.ok(err)
	return o.ID
}

func (r *rig) started(id string) payment.Started {
	r.t.Helper()
	s, err := r.Start(r.t.Context(), id, "fake")
	r.ok(err)
	return s
}

// carry claims what is due of a kind and carries it out, once; it says how many
// rows there were.
func (r *rig) carry(kind outbox.Kind, lease time.Duration) int {
	r.t.Helper()
	rows, err := r.books.Claim(r.t.Context(), kind, 64, func(int) time.Duration { return lease })
	r.ok(err)
	how := map[outbox.Kind]outbox.Carrier{outbox.KindNotice: r.CarryNotices, outbox.KindCheck: r.CarryChecks, outbox.KindLate: r.CarryLate, outbox.KindRefund: r.CarryRefunds}[kind]
	r.ok(how(r.t.Context(), rows))
	return len(rows)
}

func (r *rig) end(id string) {
	r.t.Helper()
	r.ok(r.books.Transition(r.t.Context(), &order.Change{ID: id, Event: order.Timeout, Cause: "timeout"}))
}

func (r *rig) standing(id string) (order.Status, string) {
	r.t.Helper()
	o, err := r.books.Find(r.t.Context(), id)
	r.ok(err)
	a, err := r.books.Account(r.t.Context(), id)
	r.ok(err)
	return o.Status, a.Standing()
}

func (r *rig) want(id string, status order.Status, money string) {
	r.t.Helper()
	if s, m := r.standing(id); s != status || m != money {
		r.t.Errorf("it stands at %s, the money is %q; want %s, %q", s, m, status, money)
	}
}

func (r *rig) cases() (kinds []order.CaseKind) {
	r.t.Helper()
	list, err := r.books.Cases(r.t.Context(), false, 10)
	r.ok(err)
	for _, c := range list {
		kinds = append(kinds, c.Kind)
	}
	return kinds
}
