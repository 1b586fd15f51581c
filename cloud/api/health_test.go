package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"vendline/cloud/api"
)

func TestReadinessNamesWhatIsMissing(t *testing.T) {
	var away atomic.Bool
	s := open(t, nil, func(o *api.Options) {
		o.Checks = []api.Check{
			{Name: "ledger", Ping: func(context.Context) error { return nil }},
			{Name: "queue", Ping: func(context.Context) error {
				if away.Load() {
					return errors.New("dial 10.0.0.9")
				}
				return nil
			}},
		}
	})
	if r := s.send(t, http.MethodGet, "/readyz", ""); r.status != 200 || !strings.Contains(string(r.body), `"ledger"`) {
		t.Fatalf("HTTP %d: %s", r.status, r.body)
	}
	away.Store(true)
	for range 3 {
		r := s.send(t, http.MethodGet, "/readyz", "")
		p := r.problem(t)
		if r.status != 503 || p.Code != "unavailable" || len(p.Errors) != 1 || p.Errors[0].Field != "queue" || strings.Contains(string(r.body), "10.0.0.9") {
			t.Fatalf("HTTP %d: %s", r.status, r.body)
		}
	}
	if n := strings.Count(s.log.String(), "10.0.0.9"); n != 1 {
		t.Errorf("three probes logged the failure %d times: %s", n, s.log)
	}
	if r := s.send(t, http.MethodGet, "/healthz", ""); r.status != 200 {
		t.Errorf("this process lives, but /healthz is HTTP %d", r.status)
	}
	away.Store(false)
	if r := s.send(t, http.MethodGet, "/readyz", ""); r.status != 200 {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
}

func TestMetricsCountByRouteAndNotByWhatAnybodySends(t *testing.T) {
	s := open(t, map[string]int64{"cola": 10, "water": 10})
	s.post(t, "k", basket)
	s.send(t, http.MethodGet, "/v1/orders/"+newID(), "")
	s.send(t, http.MethodGet, "/made/up", "")
	body := string(s.send(t, http.MethodGet, "/metrics", "").body)
	for _, want := range []string{
		`vendline_http_request_seconds_count{code="201",method="POST",route="/v1/orders"} 1`,
		`vendline_http_request_seconds_count{code="404",method="GET",route="/v1/orders/:id"} 1`,
		`vendline_http_request_seconds_count{code="404",method="",route="none"} 1`,
		`vendline_http_problems_total{code="order_unknown"} 1`,
		`vendline_http_placing 0`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(body, "made/up") {
		t.Error("a made-up path became a series")
	}
}
