package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"vendline/cloud/api"
)

type cabinetView struct {
	Cabinet, Connection, Source string
	Stock                       []struct {
		SKU, Name, Currency string
		Price, Sellable     int64
	}
}

func look(t *testing.T, s *shop, id string) cabinetView {
	t.Helper()
	r := s.send(t, http.MethodGet, "/v1/cabinets/"+id, "")
	var v cabinetView
	check(t, json.Unmarshal(r.body, &v))
	if r.status != 200 || v.Cabinet != id {
		t.Fatalf("HTTP %d: %s", r.status, r.body)
	}
	return v
}

func TestACabinetShowsWhatAnOrderWouldBeMeasuredAgainst(t *testing.T) {
	s := open(t, map[string]int64{"cola": 10, "water": 1}, func(o *api.Options) {
		o.Connection = func(c string) api.Connection { return map[string]api.Connection{"C001": api.Late}[c] }
	})
	v := look(t, s, "C001")
	if v.Source != "ledger" || v.Connection != "late" || len(v.Stock) != 2 || v.Stock[0].Sellable != 10 {
		t.Errorf("before the first order: %+v", v)
	}
	if r := s.post(t, "k", basket); r.status != 201 {
		t.Fatalf("HTTP %d: %s", r.status, r.body)
	}
	v = look(t, s, "C001")
	if v.Source != "live" || v.Stock[0].SKU != "cola" || v.Stock[0].Sellable != 8 || v.Stock[1].Sellable != 0 ||
		v.Stock[0].Name != "Cola <0.33 l>" || v.Stock[0].Price != 250 || v.Stock[0].Currency != "EUR" {
		t.Errorf("after it: %+v", v)
	}
	s.redis.Close()
	if v = look(t, s, "C001"); v.Source != "ledger" || v.Stock[0].Sellable != 8 {
		t.Errorf("with Redis away: %+v", v)
	}
}

func TestAnEmptyCabinetIsKnownAndOthersAreNot(t *testing.T) {
	s := open(t, nil)
	if v := look(t, s, "C001"); v.Connection != "unknown" || v.Stock == nil || len(v.Stock) != 0 {
		t.Errorf("%+v", v)
	}
	for _, id := range []string{"C999", "+", "%23", "*", "a%2Fb", "{C001}"} {
		r := s.send(t, http.MethodGet, "/v1/cabinets/"+id, "")
		if p := r.problem(t); r.status != 404 || p.Code != "cabinet_unknown" && p.Code != "not_found" {
			t.Errorf("%s: HTTP %d: %s", id, r.status, r.body)
		}
	}
}
