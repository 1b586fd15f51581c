package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/cloud/api"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/cloud/payment/sandbox"
)

const (
	secret   = "a secret of these tests"
	merchant = "M1"
)

// till is a shop at which one can pay, at a sandbox in this process.
type till struct {
	*shop
	pay    *payment.Service
	server *sandbox.Server
	wg     sync.WaitGroup
}

// money is what the API asks of payments.
type money struct {
	*payment.Service
	*ledger.Ledger
}

func (m money) Account(ctx context.Context, id string) (payment.Account, error) {
	return m.Ledger.Account(ctx, id)
}

func openTill(t *testing.T) *till {
	t.Helper()
	tl := &till{}
	var err error
	tl.server, err = sandbox.NewServer(sandbox.Options{PublicURL: "http://sandbox.example", Secret: secret, Merchant: merchant, Log: slog.New(slog.DiscardHandler)})
	check(t, err)
	provider, err := sandbox.New(sandbox.Config{BaseURL: "http://in.process", Secret: secret, Merchant: merchant, HTTP: tl.server.Client()})
	check(t, err)
	tl.pay = &payment.Service{Providers: map[string]payment.Provider{"sandbox": provider}, Clock: time.Now, Log: slog.New(slog.DiscardHandler)}
	tl.shop = open(t, map[string]int64{"cola": 50, "water": 50}, func(o *api.Options) {
		s := o.Orders.(*order.Service)
		l := s.Ledger.(*ledger.Ledger)
		tl.pay.Ledger, tl.pay.Stock = l, s
		s.Charges, s.Sessions = tl.pay, l
		o.Payments = money{tl.pay, l}
	})
	tl.pay.PublicURL = tl.URL
	carry := map[outbox.Kind]outbox.Carrier{outbox.KindNotice: tl.pay.CarryNotices, outbox.KindLate: tl.pay.CarryLate, outbox.KindRefund: tl.pay.CarryRefunds}
	feed := func(rows []outbox.Row) {
		for _, r := range rows {
			if c := carry[r.Kind]; c != nil {
				tl.wg.Go(func() { _ = c(context.Background(), []outbox.Row{r}) })
			}
		}
	}
	tl.feed.Store(&feed)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = tl.server.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done; tl.wg.Wait() })
	return tl
}

// charge places an order of a user and starts its payment.
func (tl *till) charge(t *testing.T, user string) (id, tradeNo string) {
	t.Helper()
	id = newID()
	r := tl.post(t, id, `{"cabinet":"C001","user":"`+user+`","lines":[{"sku":"cola","qty":1}]}`)
	if r.status != 201 {
		t.Fatalf("HTTP %d: %s", r.status, r.body)
	}
	r = tl.start(t, id, "sandbox")
	if r.status != 201 {
		t.Fatalf("HTTP %d: %s", r.status, r.body)
	}
	return id, payment.TradeNo(id)
}

func (tl *till) start(t *testing.T, id, provider string) reply {
	return tl.send(t, "POST", "/v1/orders/"+id+"/payments", `{"provider":"`+provider+`"}`, "Content-Type", "application/json")
}

// notify sends a callback that is signed as the sandbox signs.
func (tl *till) notify(t *testing.T, at time.Time, nonce, body string, headers ...string) reply {
	t.Helper()
	ts := strconv.FormatInt(at.Unix(), 10)
	headers = append(headers, sandbox.HeaderTimestamp, ts, sandbox.HeaderNonce, nonce, sandbox.HeaderSignature, sandbox.Sign(secret, ts, nonce, []byte(body)))
	return tl.send(t, "POST", "/v1/payments/sandbox/notify", body, headers...)
}

func paidEvent(tradeNo string, amount int, currency string) string {
	return fmt.Sprintf(`{"event":"charge.paid","merchant":%q,"trade_no":%q,"amount":%d,"currency":%q,"ref":"SB-1","paid_at":%d}`, merchant, tradeNo, amount, currency, time.Now().Unix())
}

// until asks for an order until its status and its money are as wanted.
func (tl *till) until(t *testing.T, id, status, money string) {
	t.Helper()
	var got placed
	for range 200 {
		got = tl.send(t, "GET", "/v1/orders/"+id, "").order(t)
		if got.Order.Status == status && got.Payment.Status == money {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the order is %s, its money %s; want %s, %s", got.Order.Status, got.Payment.Status, status, money)
}

// cases are the kinds of open cases.
func (tl *till) cases(t *testing.T) (kinds []string) {
	t.Helper()
	list, err := tl.ledger.Cases(t.Context(), false, 100)
	check(t, err)
	for _, c := range list {
		kinds = append(kinds, string(c.Kind))
	}
	return kinds
}

func TestAShopperPaysAndThePlacementsAnswerStaysTheSame(t *testing.T) {
	tl := openTill(t)
	id, tradeNo := tl.charge(t, "ann")
	body := `{"cabinet":"C001","user":"ann","lines":[{"sku":"cola","qty":1}]}`
	first := tl.post(t, id, body)
	again := tl.start(t, id, "sandbox")
	if r := tl.start(t, id, "sandbox"); string(r.body) != string(again.body) || tl.server.Charged() != 1 {
		t.Errorf("started again: %s, then %s; %d charges", again.body, r.body, tl.server.Charged())
	}
	check(t, tl.server.Pay(tradeNo))
	tl.until(t, id, "CONSUMED", "paid")
	if r := tl.post(t, id, body); string(r.body) != string(first.body) {
		t.Errorf("the first answer was %s, now it is %s", first.body, r.body)
	}
	if r := tl.start(t, id, "sandbox"); r.status != 409 || r.problem(t).Code != "order_state" {
		t.Errorf("paying what is paid: HTTP %d %s", r.status, r.body)
	}
	var a struct {
		Payments []struct{ Status, Provider string }
		Sums     struct{ Authorised, Captured, Refunded, Kept int64 }
	}
	check(t, json.Unmarshal(tl.send(t, "GET", "/v1/orders/"+id+"/payments", "").body, &a))
	if len(a.Payments) != 1 || a.Payments[0].Status != "paid" || a.Sums.Authorised != 250 || a.Sums.Captured != 250 || a.Sums.Kept != 250 {
		t.Errorf("the account is %+v", a)
	}
}

func TestACallbackIsHeardOrNot(t *testing.T) {
	tl := openTill(t)
	_, tradeNo := tl.charge(t, "ann")
	good := paidEvent(tradeNo, 250, "EUR")
	now := time.Now()
	for _, c := range []struct {
		name string
		send func() reply
		want int
	}{
		{"nobody's", func() reply { return tl.send(t, "POST", "/v1/payments/sandbox/notify", good) }, 401},
		{"six minutes old", func() reply { return tl.notify(t, now.Add(-6*time.Minute), "n0", good) }, 401},
		{"six minutes ahead", func() reply { return tl.notify(t, now.Add(6*time.Minute), "n1", good) }, 401},
		{"the first", func() reply { return tl.notify(t, now, "n2", good) }, 200},
		{"its nonce again", func() reply { return tl.notify(t, now, "n2", good) }, 401},
		{"from a page of another site, in any type", func() reply {
			return tl.notify(t, now, "n3", good, "Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site", "Content-Type", "text/weird")
		}, 200},
		{"of no provider", func() reply { return tl.send(t, "POST", "/v1/payments/shells/notify", good) }, 404},
		{"too large", func() reply {
			return tl.send(t, "POST", "/v1/payments/sandbox/notify", strings.Repeat("x", 64<<10+1))
		}, 413},
		{"read only", func() reply { return tl.send(t, "GET", "/v1/payments/sandbox/notify", "") }, 405},
	} {
		r := c.send()
		if r.status != c.want {
			t.Errorf("%s: HTTP %d %s, want %d", c.name, r.status, r.body, c.want)
		}
		if r.status == http.StatusUnauthorized && r.problem(t).Code != "unsigned" {
			t.Errorf("%s: %s", c.name, r.body)
		}
	}
}

func TestTwentyCallbacksAreOnePayment(t *testing.T) {
	tl := openTill(t)
	id, tradeNo := tl.charge(t, "ann")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if r := tl.notify(t, time.Now(), fmt.Sprint("n", i), paidEvent(tradeNo, 250, "EUR")); r.status != 200 {
				t.Errorf("HTTP %d %s", r.status, r.body)
			}
		})
	}
	wg.Wait()
	tl.until(t, id, "CONSUMED", "paid")
	tl.wg.Wait()
	o, err := tl.ledger.Find(t.Context(), id)
	check(t, err)
	if o.Version != 2 || tl.pay.Counters.Paid.Load() != 1 || tl.pay.Counters.Again.Load() != 19 {
		t.Errorf("version %d, paid %d times, heard again %d times", o.Version, tl.pay.Counters.Paid.Load(), tl.pay.Counters.Again.Load())
	}
}

func TestMoneyThatIsNotWhatWasAskedIsACase(t *testing.T) {
	for name, event := range map[string]func(tradeNo string) string{
		"one cent less":    func(n string) string { return paidEvent(n, 249, "EUR") },
		"one cent more":    func(n string) string { return paidEvent(n, 251, "EUR") },
		"another currency": func(n string) string { return paidEvent(n, 250, "USD") },
	} {
		t.Run(name, func(t *testing.T) {
			tl := openTill(t)
			id, tradeNo := tl.charge(t, "ann")
			if r := tl.notify(t, time.Now(), "n", event(tradeNo)); r.status != 200 {
				t.Fatalf("HTTP %d %s", r.status, r.body)
			}
			tl.wg.Wait()
			tl.until(t, id, "PRE_RESERVED", "unpaid")
			if got := tl.cases(t); !slices.Equal(got, []string{"payment_mismatch"}) {
				t.Errorf("cases %v", got)
			}
			// The right money, after all, pays.
			tl.notify(t, time.Now(), "n2", paidEvent(tradeNo, 250, "EUR"))
			tl.until(t, id, "CONSUMED", "paid")
		})
	}
	t.Run("another order's", func(t *testing.T) {
		tl := openTill(t)
		id, _ := tl.charge(t, "ann")
		other := newID()
		check(t, json.Unmarshal(tl.post(t, other, `{"cabinet":"C001","user":"bob","lines":[{"sku":"water","qty":1}]}`).body, new(any)))
		if r := tl.notify(t, time.Now(), "n", paidEvent(payment.TradeNo(other), 250, "EUR")); r.status != 200 {
			t.Fatalf("HTTP %d %s", r.status, r.body)
		}
		tl.wg.Wait()
		tl.until(t, id, "PRE_RESERVED", "unpaid")
		tl.until(t, other, "PRE_RESERVED", "unpaid") // it has no charge: the callback is parked
	})
}

func TestLateMoneyGoesBackAndSaysSo(t *testing.T) {
	tl := openTill(t)
	id, tradeNo := tl.charge(t, "ann")
	// Rolled back behind the provider's back, as after half a minute of silence.
	check(t, tl.ledger.Transition(t.Context(), &order.Change{ID: id, Event: order.Timeout, Cause: "timeout"}))
	tl.until(t, id, "ROLLBACKED", "void")
	check(t, tl.server.Pay(tradeNo))
	tl.until(t, id, "ROLLBACKED", "refunded")
	if got := tl.server.Refunded(tradeNo); got != 250 {
		t.Errorf("%d went back", got)
	}
}

func TestLateMoneyOfAShopperWhoIsThereVends(t *testing.T) {
	tl := openTill(t)
	id, tradeNo := tl.charge(t, "ann")
	check(t, tl.ledger.Transition(t.Context(), &order.Change{ID: id, Event: order.Timeout, Cause: "timeout"}))
	tl.send(t, "GET", "/v1/orders/"+id+"?wait=1s", "")
	before := tl.sellable(t, "cola")
	check(t, tl.server.Pay(tradeNo))
	tl.until(t, id, "CONSUMED", "paid")
	if after := tl.sellable(t, "cola"); after != before-1 && after != before {
		t.Errorf("sellable was %d, is %d", before, after)
	}
}

func TestCancellingClosesTheCharge(t *testing.T) {
	tl := openTill(t)
	id, tradeNo := tl.charge(t, "ann")
	if r := tl.send(t, "POST", "/v1/orders/"+id+"/cancel", ""); r.status != 200 {
		t.Fatalf("HTTP %d %s", r.status, r.body)
	}
	if err := tl.server.Pay(tradeNo); err == nil {
		t.Error("it could be paid")
	}
	if r := tl.start(t, id, "sandbox"); r.status != 409 {
		t.Errorf("HTTP %d %s", r.status, r.body)
	}
	for path, want := range map[string]string{"/v1/orders/" + newID() + "/payments": "order_unknown", "/v1/orders/x/payments": "order_unknown"} {
		if r := tl.send(t, "POST", path, `{"provider":"sandbox"}`, "Content-Type", "application/json"); r.problem(t).Code != want {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	if r := tl.start(t, id, "shells"); r.status != 404 || r.problem(t).Code != "payment_unknown" {
		t.Errorf("HTTP %d %s", r.status, r.body)
	}
}

// Whatever settling costs, a provider hears within half a second: here it hangs
// for every callback that came before.
func TestCallbacksAreAnsweredInTime(t *testing.T) {
	tl := openTill(t)
	hang := make(chan struct{})
	defer close(hang)
	feed := func([]outbox.Row) { tl.wg.Go(func() { <-hang }) }
	tl.feed.Store(&feed)
	took := make([]time.Duration, 200)
	var wg sync.WaitGroup
	const hands = 2 // more would measure this machine's other tests
	for hand := range hands {
		wg.Go(func() {
			for i := hand; i < len(took); i += hands {
				begun := time.Now()
				r := tl.notify(t, begun, fmt.Sprint("n", i), paidEvent(payment.TradeNo(newID()), 250, "EUR"))
				if took[i] = time.Since(begun); r.status != 200 {
					t.Errorf("HTTP %d %s", r.status, r.body)
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	if p99 := took[len(took)*99/100]; p99 > 500*time.Millisecond {
		t.Errorf("the slowest but one in a hundred took %v", p99)
	}
}
