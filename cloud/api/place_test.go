package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"vendline/cloud/order"
)

const basket = `{"cabinet":"C001","user":"u1","lines":[{"sku":"cola","qty":2},{"sku":"water","qty":1}]}`

func TestAnOrderIsAnsweredInFull(t *testing.T) {
	s := open(t, map[string]int64{"cola": 10, "water": 10})
	r := s.post(t, "phone-1/basket-7", basket)
	if r.status != http.StatusCreated {
		t.Fatalf("HTTP %d: %s", r.status, r.body)
	}
	p := r.order(t)
	o := p.Order
	if want := order.IDFromKey("phone-1/basket-7"); o.ID != want || r.header.Get("Location") != "/v1/orders/"+want {
		t.Errorf("id %q, Location %q, want id %q", o.ID, r.header.Get("Location"), want)
	}
	if o.Cabinet != "C001" || o.User != "u1" || o.Status != "PRE_RESERVED" || o.Amount != 600 || o.Currency != "EUR" ||
		fmt.Sprint(o.Lines) != "[{cola 2 250} {water 1 100}]" {
		t.Errorf("order %+v", o)
	}
	if pay := p.Payment; pay.Status != "unpaid" || pay.Amount != 600 || pay.Currency != "EUR" || !pay.DueBy.Equal(o.ExpiresAt) {
		t.Errorf("payment %+v", pay)
	}
	if !o.ExpiresAt.After(o.CreatedAt) {
		t.Errorf("created %s, expires %s", o.CreatedAt, o.ExpiresAt)
	}
	if !bytes.Contains(r.body, []byte(`"id":"`+o.ID+`"`)) {
		t.Errorf("the id is not a string: %s", r.body)
	}
}

// saleor, dtm barrier: a check of stock before the check of the key would say
// "sold out" to the shopper who bought the last unit.
func TestAReplayOfTheLastUnitHearsItsFirstYesByteForByte(t *testing.T) {
	s := open(t, map[string]int64{"cola": 2, "water": 1})
	first := s.post(t, "k", basket)
	again := s.post(t, "k", basket)
	if first.status != http.StatusCreated || again.status != first.status || !bytes.Equal(first.body, again.body) {
		t.Fatalf("first %d %s\nagain %d %s", first.status, first.body, again.status, again.body)
	}
	if first.header.Get("Idempotent-Replayed") != "" || again.header.Get("Idempotent-Replayed") != "true" {
		t.Fatalf("Idempotent-Replayed: first %q, again %q", first.header.Get("Idempotent-Replayed"), again.header.Get("Idempotent-Replayed"))
	}
	if again.header.Get("Location") != first.header.Get("Location") {
		t.Fatal("the replay has another Location")
	}
	if other := s.post(t, "k2", basket); other.problem(t).Code != "stock_short" {
		t.Fatalf("the units were sold twice: %s", other.body)
	}
}

// A UUID stands for itself whatever its case, so that a phone and a cabinet mean
// the same order.
func TestAReplayAfterTheOrderMovedOnIsStillTheFirstAnswer(t *testing.T) {
	s := open(t, map[string]int64{"cola": 10, "water": 10})
	key := newID()
	first := s.post(t, key, basket)
	_, err := s.orders.Pay(t.Context(), key)
	check(t, err)
	again := s.post(t, strings.ToUpper(key), basket)
	if again.status != http.StatusCreated || !bytes.Equal(first.body, again.body) {
		t.Fatalf("first %s\nagain %d %s", first.body, again.status, again.body)
	}
}

func TestTheSameKeyTenTimesAtOnceIsOneOrder(t *testing.T) {
	s := open(t, map[string]int64{"cola": 10, "water": 10})
	replies := make([]reply, 10)
	var wg sync.WaitGroup
	for i := range replies {
		wg.Go(func() { replies[i] = s.post(t, "same", basket) })
	}
	wg.Wait()
	fresh := 0
	for _, r := range replies {
		if r.status != http.StatusCreated || !bytes.Equal(r.body, replies[0].body) {
			t.Fatalf("HTTP %d %s\nanother %s", r.status, r.body, replies[0].body)
		}
		if r.header.Get("Idempotent-Replayed") == "" {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d replies claim to be the first", fresh)
	}
	if got := s.sellable(t, "cola"); got != 8 {
		t.Errorf("%d colas left of 10 after one order of 2", got)
	}
}

func TestAKeyUsedForAnotherBasketIsRefusedAndTheFirstStands(t *testing.T) {
	s := open(t, map[string]int64{"cola": 10, "water": 10})
	first := s.post(t, "k", basket)
	for _, other := range []string{
		`{"cabinet":"C001","user":"u1","lines":[{"sku":"cola","qty":3},{"sku":"water","qty":1}]}`,
		`{"cabinet":"C001","user":"u2","lines":[{"sku":"cola","qty":2},{"sku":"water","qty":1}]}`,
		`{"cabinet":"C001","user":"u1","lines":[{"sku":"cola","qty":2}]}`,
	} {
		r := s.post(t, "k", other)
		if p := r.problem(t); r.status != 422 || p.Code != "idempotency_conflict" || p.Retryable {
			t.Errorf("HTTP %d: %s", r.status, r.body)
		}
	}
	if again := s.post(t, "k", basket); !bytes.Equal(first.body, again.body) {
		t.Errorf("the first order changed:\n%s\n%s", first.body, again.body)
	}
	if got := s.sellable(t, "cola"); got != 8 {
		t.Errorf("%d colas left of 10", got)
	}
}

func TestOneSKUOnTwoLinesIsMergedBeforeStockIsAsked(t *testing.T) {
	s := open(t, map[string]int64{"cola": 3})
	r := s.post(t, "k", `{"cabinet":"C001","user":"u1","lines":[{"sku":"cola","qty":2},{"sku":"cola","qty":2}]}`)
	p := r.problem(t)
	if r.status != http.StatusConflict || p.Code != "stock_short" || p.Retryable || fmt.Sprint(p.Short) != "[{cola 4 3}]" {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
	if got := s.sellable(t, "cola"); got != 3 {
		t.Errorf("%d colas left of 3", got)
	}
}

func TestRefusalsOfTheDomainHaveTheirCodes(t *testing.T) {
	s := open(t, map[string]int64{"cola": 3, "gum": 10, "water": 5})
	for _, c := range []struct {
		name, body, code string
		status           int
	}{
		{"a SKU nobody listed", `{"cabinet":"C001","user":"u1","lines":[{"sku":"rum","qty":1}]}`, "sku_unknown", 404},
		{"a SKU this cabinet does not sell", `{"cabinet":"C001","user":"u1","lines":[{"sku":"tea","qty":1}]}`, "sku_unknown", 404},
		{"a cabinet that does not exist", `{"cabinet":"C999","user":"u1","lines":[{"sku":"cola","qty":1}]}`, "cabinet_unknown", 404},
		{"more than a shopper may have", `{"cabinet":"C001","user":"u1","lines":[{"sku":"gum","qty":3}]}`, "purchase_limit", 409},
		{"two currencies", `{"cabinet":"C001","user":"u1","lines":[{"sku":"cola","qty":1},{"sku":"tea","qty":1}]}`, "invalid_request", 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.post(t, newID(), c.body)
			if p := r.problem(t); r.status != c.status || p.Code != c.code || p.Retryable {
				t.Errorf("HTTP %d: %s", r.status, r.body)
			}
		})
	}
}
