package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/cloud/api"
	"vendline/cloud/callback"
	"vendline/cloud/intent"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// peak is a shop that takes orders in; nothing is placed before decide is called.
func peak(t *testing.T, opening map[string]int64) (s *shop, decide func()) {
	t.Helper()
	var takes taker
	s = open(t, opening, func(o *api.Options) { o.Intents, o.Callback = &takes, callback.Policy{}.Check })
	takes.Service = s.orders
	s.orders.Intents, s.orders.Room = s.ledger, &order.Room{}
	r := &intent.Runner{Orders: s.orders, Ledger: s.ledger, Clock: time.Now}
	var mu sync.Mutex
	var taken []outbox.Row
	feed := func(rows []outbox.Row) {
		mu.Lock()
		defer mu.Unlock()
		for _, row := range rows {
			if row.Kind == outbox.KindIntent {
				taken = append(taken, row)
			}
		}
	}
	s.feed.Store(&feed)
	return s, func() {
		mu.Lock()
		rows := taken
		taken = nil
		mu.Unlock()
		check(t, r.Carry(context.WithoutCancel(t.Context()), rows))
	}
}

// taker is filled in when the service exists.
type taker struct{ *order.Service }

func (s *shop) async(t *testing.T, key, body string) reply {
	t.Helper()
	return s.send(t, http.MethodPost, "/v1/orders", body, "Content-Type", "application/json", "Idempotency-Key", key, "Prefer", "respond-async")
}

func colas(n int) string {
	return fmt.Sprintf(`{"cabinet":"C001","user":"ann","lines":[{"sku":"cola","qty":%d}]}`, n)
}

func TestAnIntentIsAnsweredAndPlacedAfterwards(t *testing.T) {
	s, decide := peak(t, map[string]int64{"cola": 5})
	key := newID()
	first := s.async(t, key, colas(2))
	if first.status != http.StatusAccepted || first.header.Get("Location") != "/v1/orders/"+key || first.header.Get("Preference-Applied") != "respond-async" {
		t.Fatalf("HTTP %d %v %s", first.status, first.header, first.body)
	}
	if o := first.order(t).Order; o.Status != "INIT" || o.Amount != 500 || !strings.Contains(string(first.body), `"decide_by":"`) {
		t.Errorf("taken in: %s", first.body)
	}
	decide()
	got := s.send(t, http.MethodGet, "/v1/orders/"+key+"?wait=0s", "")
	if o := got.order(t); o.Order.Status != "PRE_RESERVED" || o.Order.Version != 1 || o.Payment.Status != "unpaid" {
		t.Errorf("placed: %s", got.body)
	}
	if n := s.sellable(t, "cola"); n != 3 {
		t.Errorf("%d are left", n)
	}
	again := s.async(t, key, colas(2))
	plain := s.post(t, key, colas(2))
	for name, r := range map[string]reply{"again": again, "without the preference": plain} {
		if r.status != http.StatusAccepted || !bytes.Equal(r.body, first.body) || r.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: HTTP %d %s", name, r.status, r.body)
		}
	}
	if p := s.async(t, key, colas(1)).problem(t); p.Code != "idempotency_conflict" {
		t.Errorf("another basket: %s", p.Code)
	}
	if n := s.sellable(t, "cola"); n != 3 {
		t.Errorf("%d are left after the repeats", n)
	}
}

func TestARefusedIntentSaysWhy(t *testing.T) {
	s, decide := peak(t, map[string]int64{"cola": 1})
	key := newID()
	if r := s.async(t, key, colas(2)); r.status != http.StatusAccepted {
		t.Fatalf("HTTP %d %s", r.status, r.body)
	}
	done := make(chan reply, 1)
	go func() { done <- s.send(t, http.MethodGet, "/v1/orders/"+key+"?wait=20s", "") }()
	time.Sleep(50 * time.Millisecond) // so that somebody waits, most of the time
	decide()
	var got struct {
		Order   struct{ Status string }
		Refusal struct{ Code, Detail string }
	}
	r := <-done
	check(t, json.Unmarshal(r.body, &got))
	if got.Order.Status != "INIT" || got.Refusal.Code != "stock_short" || got.Refusal.Detail == "" {
		t.Errorf("%s", r.body)
	}
	events := s.send(t, http.MethodGet, "/v1/orders/"+key+"/events", "")
	if !strings.Contains(string(events.body), `"state":"refused"`) || !strings.Contains(string(events.body), "stock_short") {
		t.Errorf("events: %s", events.body)
	}
	if p := s.send(t, http.MethodPost, "/v1/orders/"+key+"/cancel", "").problem(t); p.Code != "order_state" {
		t.Errorf("cancelled: %s", p.Code)
	}
	if n := s.sellable(t, "cola"); n != 1 {
		t.Errorf("%d are left", n)
	}
}

func TestWhatCannotBePlacedIsRefusedAtOnce(t *testing.T) {
	s, _ := peak(t, map[string]int64{"cola": 1})
	for want, body := range map[string]string{
		"sku_unknown":     strings.Replace(colas(1), "cola", "none", 1),
		"cabinet_unknown": strings.Replace(colas(1), "C001", "C404", 1),
		"invalid_request": strings.Replace(colas(1), `"ann"`, `"ann","callback_url":"https://10.0.0.1/"`, 1),
	} {
		if p := s.async(t, newID(), body).problem(t); p.Code != want {
			t.Errorf("%s: %s", body, p.Code)
		}
	}
	if p := s.async(t, newID(), strings.Replace(colas(1), "cola", "water", 1)).problem(t); p.Code != "sku_unknown" {
		t.Errorf("not sold at this cabinet: %s", p.Code)
	}
	if r := s.async(t, newID(), strings.Replace(colas(1), `"ann"`, `"ann","callback_url":"https://shop.example/"`, 1)); r.status != http.StatusAccepted {
		t.Errorf("HTTP %d %s", r.status, r.body)
	}
	s.orders.Room.Set(1<<40, true)
	r := s.async(t, newID(), colas(1))
	if p := r.problem(t); p.Code != "overloaded" || r.header.Get("Retry-After") == "" {
		t.Errorf("full: %s", r.body)
	}
}

func TestAKeyKeepsTheAnswerItHadFirst(t *testing.T) {
	s, _ := peak(t, map[string]int64{"cola": 5})
	key := newID()
	first := s.post(t, key, colas(1))
	if again := s.async(t, key, colas(1)); again.status != http.StatusCreated || !bytes.Equal(again.body, first.body) {
		t.Errorf("HTTP %d %s", again.status, again.body)
	}
}

func TestPreferencesAreReadAsTheRFCWantsIt(t *testing.T) {
	s, _ := peak(t, map[string]int64{"cola": 100})
	for prefer, want := range map[string]string{
		"respond-async":                       "respond-async",
		"Respond-Async , wait=10":             "respond-async, wait=10",
		`wait="30";x=y, foo, respond-async`:   "respond-async, wait=30",
		"respond-async, wait=5, wait=9":       "respond-async, wait=5",
		"respond-async, wait=9999":            "respond-async, wait=600",
		"respond-async, wait=-1":              "respond-async",
		"return=minimal":                      "",
		"wait=10":                             "",
		"respond-asynchronously, async, ;, =": "",
	} {
		r := s.send(t, http.MethodPost, "/v1/orders", colas(1), "Content-Type", "application/json", "Idempotency-Key", newID(), "Prefer", prefer)
		if got := r.header.Get("Preference-Applied"); got != want || (r.status == http.StatusAccepted) != (want != "") {
			t.Errorf("%s: HTTP %d, applied %q", prefer, r.status, got)
		}
	}
}
