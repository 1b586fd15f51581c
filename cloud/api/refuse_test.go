package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"vendline/cloud/api"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

func TestAServerBehindUsThatIsAwayIsRetryableAndLoggedOnce(t *testing.T) {
	s := open(t, nil, with(fakeOrders{place: func(context.Context, order.Request) (order.Order, bool, error) {
		return order.Order{}, false, errors.New("dial tcp 10.0.0.7:3306: connection refused")
	}}))
	r := s.send(t, http.MethodPost, "/v1/orders", basket, "Content-Type", "application/json", "Idempotency-Key", "k", "X-Request-Id", "phone-42")
	p := r.problem(t)
	if r.status != 503 || p.Code != "unavailable" || !p.Retryable || r.header.Get("Retry-After") == "" || p.RequestID != "phone-42" {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
	if strings.Contains(string(r.body), "10.0.0.7") {
		t.Errorf("the caller learns our addresses: %s", r.body)
	}
	log := s.log.String()
	if strings.Count(log, "\n") != 1 || !strings.Contains(log, "request_id=phone-42") || !strings.Contains(log, "connection refused") {
		t.Errorf("log: %s", log)
	}
}

func TestAFencedCabinetAsksForPatience(t *testing.T) {
	s := open(t, nil, with(fakeOrders{place: func(context.Context, order.Request) (order.Order, bool, error) {
		return order.Order{}, false, &order.Refusal{Code: wire.CodeFenced, Detail: "being rebuilt"}
	}}))
	r := s.post(t, "k", basket)
	if p := r.problem(t); r.status != 503 || p.Code != "fenced" || !p.Retryable || r.header.Get("Retry-After") == "" {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
}

func TestAPanicIsAnAnswerAndTheServerGoesOn(t *testing.T) {
	panics := true
	s := open(t, nil, with(fakeOrders{get: func(context.Context, string) (order.Order, error) {
		if panics {
			panic("index out of range")
		}
		return order.Order{}, order.ErrUnknown
	}}))
	r := s.send(t, http.MethodGet, "/v1/orders/"+newID(), "")
	if p := r.problem(t); r.status != 500 || p.Code != "internal" || !p.Retryable || strings.Contains(string(r.body), "index") {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
	if !strings.Contains(s.log.String(), "index out of range") {
		t.Errorf("nobody can find out why: %s", s.log)
	}
	panics = false
	if r := s.send(t, http.MethodGet, "/v1/orders/"+newID(), ""); r.status != 404 {
		t.Errorf("HTTP %d after a panic", r.status)
	}
}

func TestARequestIDIsTakenOnlyIfItIsHarmless(t *testing.T) {
	s := open(t, nil)
	for id, taken := range map[string]bool{"abc-1_2.3:4": true, "": false, "a b": false, "a\"b": false, strings.Repeat("x", 65): false, "ü": false} {
		r := s.send(t, http.MethodGet, "/nowhere", "", "X-Request-Id", id)
		got := r.problem(t).RequestID
		if (got == id) != taken || r.header.Get("X-Request-Id") != got {
			t.Errorf("%q became %q, header %q", id, got, r.header.Get("X-Request-Id"))
		}
	}
}

func TestWhatDoesNotExistIsAProblemToo(t *testing.T) {
	s := open(t, nil)
	for _, c := range []struct {
		method, path, code string
		status             int
	}{
		{"GET", "/nowhere", "not_found", 404},
		{"GET", "/v1/orders/", "not_found", 404},
		{"GET", "/v1/orders/../../etc/passwd", "not_found", 404},
		{"DELETE", "/v1/orders", "method_not_allowed", 405},
		{"GET", "/v1/orders", "method_not_allowed", 405},
		{"PUT", "/healthz", "method_not_allowed", 405},
	} {
		r := s.send(t, c.method, c.path, "")
		if p := r.problem(t); r.status != c.status || p.Code != c.code || p.Retryable {
			t.Errorf("%s %s: HTTP %d: %s", c.method, c.path, r.status, r.body)
		}
		if c.status == 405 && r.header.Get("Allow") == "" {
			t.Errorf("%s %s: 405 without Allow", c.method, c.path)
		}
	}
}

func TestAnotherSitesPageCannotOrderOrCancel(t *testing.T) {
	s := open(t, nil)
	r := s.send(t, http.MethodPost, "/v1/orders/"+newID()+"/cancel", "", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
	if p := r.problem(t); r.status != 403 || p.Code != "cross_origin" {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
	if r := s.send(t, http.MethodPost, "/v1/orders/"+newID()+"/cancel", "", "Sec-Fetch-Site", "same-origin"); r.status != 404 {
		t.Errorf("our own page: HTTP %d", r.status)
	}
}

func TestMoreOrdersAtOnceThanAllowedAreToldToComeLater(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	s := open(t, nil, with(fakeOrders{place: func(context.Context, order.Request) (order.Order, bool, error) {
		inside <- struct{}{}
		<-leave
		return order.Order{}, false, &order.Refusal{Code: wire.CodeStockShort}
	}}), func(o *api.Options) { o.MaxPlacing = 1 })
	done := make(chan reply)
	go func() { done <- s.post(t, "a", basket) }()
	<-inside
	r := s.post(t, "b", basket)
	if p := r.problem(t); r.status != 503 || p.Code != "overloaded" || !p.Retryable {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
	close(leave)
	if r := <-done; r.status != 409 {
		t.Errorf("HTTP %d for the one inside", r.status)
	}
}

// A phone that loses its network in the middle of a placement must not leave a
// hold behind that nobody owns.
func TestAPlacementGoesOnWhenItsCallerHangsUp(t *testing.T) {
	inside, verdict := make(chan struct{}), make(chan error)
	s := open(t, nil, with(fakeOrders{place: func(ctx context.Context, r order.Request) (order.Order, bool, error) {
		close(inside)
		select {
		case <-ctx.Done():
			verdict <- ctx.Err()
		case <-time.After(300 * time.Millisecond):
			verdict <- nil
		}
		return order.Order{ID: r.ID}, false, nil
	}}))
	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/orders", strings.NewReader(basket))
	check(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "k")
	go func() {
		<-inside
		hangUp()
	}()
	if _, err := s.Client().Do(req); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if err := <-verdict; err != nil {
		t.Errorf("the placement ended with its caller: %v", err)
	}
}
