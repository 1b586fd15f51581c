package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"vendline/shared/wire"
)

type pricedProblem struct {
	Code     string
	Prices   []wire.Price
	PricedAt int64 `json:"priced_at"`
}

// An order says which prices its shopper saw, and is told when they are others.
func TestAPriceThatChangedIsToldAndNothingIsTaken(t *testing.T) {
	s := open(t, map[string]int64{"cola": 10, "water": 9})
	set := func(price int64) {
		t.Helper()
		_, _, err := s.ledger.SetPlanogram(t.Context(), "C001", []wire.Slot{{Slot: "A1", SKU: "cola", Capacity: 9, Price: price, Currency: "EUR"}}, nil)
		check(t, err)
	}
	set(300)
	if r := s.post(t, "k1", `{"cabinet":"C001","user":"u1","priced_at":1,"lines":[{"sku":"cola","qty":1}]}`); r.status != http.StatusCreated {
		t.Fatalf("HTTP %d: %s", r.status, r.body)
	}
	set(350)
	for look := (pricedProblem{}); look.PricedAt != 2; time.Sleep(20 * time.Millisecond) { // a copy may be a second old
		check(t, json.Unmarshal(s.send(t, http.MethodGet, "/v1/cabinets/C001", "").body, &look))
	}
	var p pricedProblem
	check(t, json.Unmarshal(s.post(t, "k2", `{"cabinet":"C001","user":"u1","priced_at":1,"lines":[{"sku":"cola","qty":1}]}`).body, &p))
	if p.Code != "price_changed" || p.PricedAt != 2 || !slices.Equal(p.Prices, []wire.Price{{SKU: "cola", Price: 350, Currency: "EUR"}}) {
		t.Errorf("%+v", p)
	}
	if r := s.post(t, "k2", `{"cabinet":"C001","user":"u1","priced_at":2,"lines":[{"sku":"cola","qty":1}]}`); r.status != http.StatusCreated {
		t.Errorf("the same key, with what it costs now: HTTP %d: %s", r.status, r.body)
	}
	if r := s.post(t, "k3", `{"cabinet":"C001","user":"u1","lines":[{"sku":"water","qty":1}]}`); r.status != http.StatusNotFound || r.problem(t).Code != "sku_unknown" {
		t.Errorf("what is in no slot: HTTP %d: %s", r.status, r.body)
	}
	if r := s.post(t, "k4", `{"cabinet":"C001","user":"u1","priced_at":-1,"lines":[{"sku":"cola","qty":1}]}`); r.status != http.StatusBadRequest {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
	v := s.send(t, http.MethodGet, "/v1/cabinets/C001", "")
	var shown struct {
		PricedAt int64 `json:"priced_at"`
		Stock    []struct {
			SKU       string
			Price     int64
			Slots     []string
			Suspended *bool
			Sellable  int64
		}
	}
	check(t, json.Unmarshal(v.body, &shown))
	if shown.PricedAt != 2 || len(shown.Stock) != 1 || shown.Stock[0].Price != 350 || !slices.Equal(shown.Stock[0].Slots, []string{"A1"}) || shown.Stock[0].Suspended == nil {
		t.Errorf("%s", v.body)
	}
}
