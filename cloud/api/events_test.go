package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"vendline/cloud/order"
)

const cola = `{"cabinet":"C001","user":"ann","lines":[{"sku":"cola","qty":1}]}`

func TestHistoryTellsEveryTransitionWithItsCause(t *testing.T) {
	s := open(t, map[string]int64{"cola": 5})
	id := newID()
	s.post(t, id, cola)
	s.send(t, http.MethodPost, "/v1/orders/"+id+"/cancel", "")
	var got struct {
		Order  string
		Events []order.Entry
	}
	r := s.send(t, http.MethodGet, "/v1/orders/"+id+"/events", "")
	check(t, json.Unmarshal(r.body, &got))
	if r.status != 200 || got.Order != id || len(got.Events) != 2 {
		t.Fatalf("HTTP %d: %s", r.status, r.body)
	}
	placed, ended := got.Events[0], got.Events[1]
	if placed.To != order.PreReserved || placed.Version != 1 || placed.At.IsZero() {
		t.Errorf("placed: %+v", placed)
	}
	if ended.From != order.PreReserved || ended.To != order.RolledBack || ended.Version != 2 || ended.Cause != "cancelled by shopper" || ended.At.Before(placed.At) {
		t.Errorf("ended: %+v", ended)
	}
	if p := s.send(t, http.MethodGet, "/v1/orders/"+newID()+"/events", "").problem(t); p.Code != "order_unknown" {
		t.Errorf("%+v", p)
	}
}

func TestHistoryStreamsAsThingsHappen(t *testing.T) {
	s := open(t, map[string]int64{"cola": 5})
	id := newID()
	s.post(t, id, cola)
	next := s.follow(t, id, "")
	if got := next(); got != "1 transition PRE_RESERVED" {
		t.Errorf("first %q", got)
	}
	s.send(t, http.MethodPost, "/v1/orders/"+id+"/cancel", "")
	if got := next(); got != "2 transition ROLLBACKED" {
		t.Errorf("then %q", got)
	}
	if got := s.follow(t, id, "1")(); got != "2 transition ROLLBACKED" {
		t.Errorf("resumed with %q", got)
	}
}

// follow opens an order's stream and returns what reads the next event of it.
func (s *shop) follow(t *testing.T, id, last string) (next func() string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/orders/"+id+"/events", nil)
	check(t, err)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", last)
	res, err := s.Client().Do(r)
	check(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	return func() string {
		var id, kind string
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				id = value
			case "event":
				kind = value
			case "data":
				var e order.Entry
				check(t, json.Unmarshal([]byte(value), &e))
				return id + " " + kind + " " + string(e.To)
			}
		}
		return "the stream ended"
	}
}
