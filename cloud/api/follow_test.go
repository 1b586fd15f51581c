package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"vendline/cloud/api"
	"vendline/cloud/order"
)

func TestAnOrderIsReadAsItStands(t *testing.T) {
	s := open(t, map[string]int64{"cola": 10, "water": 10})
	id := s.post(t, "k", basket).order(t).Order.ID
	r := s.send(t, http.MethodGet, "/v1/orders/"+id, "")
	if p := r.order(t); r.status != 200 || p.Order.ID != id || p.Order.Status != "PRE_RESERVED" || p.Order.Version != 1 || p.Payment.Status != "unpaid" {
		t.Fatalf("HTTP %d: %s", r.status, r.body)
	}
	_, err := s.orders.Pay(t.Context(), id)
	check(t, err)
	r = s.send(t, http.MethodGet, "/v1/orders/"+id, "")
	if p := r.order(t); p.Order.Status != "CONSUMED" || p.Order.Version != 2 || p.Payment.Status != "paid" || fmt.Sprint(p.Order.Lines) != "[{cola 2 250} {water 1 100}]" {
		t.Fatalf("HTTP %d: %s", r.status, r.body)
	}
	for _, other := range []string{newID(), "1", strings.ToUpper(id), "%00", strings.Repeat("a", 1000)} {
		if r := s.send(t, http.MethodGet, "/v1/orders/"+other, ""); r.status != 404 || r.problem(t).Code != "order_unknown" {
			t.Errorf("%s: HTTP %d: %s", other, r.status, r.body)
		}
	}
}

func TestCancellingGivesBackOnceAndIsRefusedOncePaid(t *testing.T) {
	s := open(t, map[string]int64{"cola": 10, "water": 10})
	id := s.post(t, "k", basket).order(t).Order.ID
	first := s.send(t, http.MethodPost, "/v1/orders/"+id+"/cancel", "")
	again := s.send(t, http.MethodPost, "/v1/orders/"+id+"/cancel", "")
	for _, r := range []reply{first, again} {
		if p := r.order(t); r.status != 200 || p.Order.Status != "ROLLBACKED" || p.Order.Version != 2 || p.Payment.Status != "void" {
			t.Fatalf("HTTP %d: %s", r.status, r.body)
		}
	}
	paid := s.post(t, "k2", basket).order(t).Order.ID
	_, err := s.orders.Pay(t.Context(), paid)
	check(t, err)
	r := s.send(t, http.MethodPost, "/v1/orders/"+paid+"/cancel", "")
	if p := r.problem(t); r.status != 409 || p.Code != "order_state" || p.Retryable {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
	for _, other := range []string{newID(), "1"} {
		if r := s.send(t, http.MethodPost, "/v1/orders/"+other+"/cancel", ""); r.status != 404 || r.problem(t).Code != "order_unknown" {
			t.Errorf("HTTP %d: %s", r.status, r.body)
		}
	}
}

func TestAWaitEndsWithTheChange(t *testing.T) {
	waiting := make(chan struct{})
	s := open(t, map[string]int64{"cola": 10, "water": 10}, func(o *api.Options) {
		real := o.Orders
		o.Orders = fakeOrders{place: real.Place, get: real.Get, wait: func(ctx context.Context, id string, d time.Duration) (order.Order, error) {
			close(waiting)
			return real.Wait(ctx, id, d)
		}}
	})
	id := s.post(t, "k", basket).order(t).Order.ID
	answer := make(chan reply)
	go func() { answer <- s.send(t, http.MethodGet, "/v1/orders/"+id+"?wait=60s", "") }()
	<-waiting
	_, err := s.orders.Pay(t.Context(), id)
	check(t, err)
	if r := <-answer; r.status != 200 || r.order(t).Order.Status != "CONSUMED" {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
}

func TestAWaitEndsWithItsTimeAndAnswersWhatThereIs(t *testing.T) {
	s := open(t, map[string]int64{"cola": 10, "water": 10})
	id := s.post(t, "k", basket).order(t).Order.ID
	if r := s.send(t, http.MethodGet, "/v1/orders/"+id+"?wait=20ms", ""); r.status != 200 || r.order(t).Order.Status != "PRE_RESERVED" {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
	if r := s.send(t, http.MethodGet, "/v1/orders/"+newID()+"?wait=20ms", ""); r.status != 404 {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
}

func TestAWaitEndsWhenItsCallerGoesAway(t *testing.T) {
	waiting, over := make(chan struct{}), make(chan error)
	s := open(t, nil, with(fakeOrders{wait: func(ctx context.Context, _ string, _ time.Duration) (order.Order, error) {
		close(waiting)
		<-ctx.Done()
		over <- ctx.Err()
		return order.Order{}, ctx.Err()
	}}))
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		<-waiting
		hangUp()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/orders/"+newID()+"?wait=60s", nil)
	check(t, err)
	if _, err := s.Client().Do(req); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ended with %v", err)
	}
	if s.log.Len() > 0 {
		t.Errorf("a caller that went away is no news: %s", s.log)
	}
}

func TestAWaitIsOneDurationUpToAMinute(t *testing.T) {
	s := open(t, nil)
	for _, q := range []string{"wait=61s", "wait=-1s", "wait=20", "wait=abc", "wait=", "wait=1s&wait=2s", "wait=9999999h"} {
		r := s.send(t, http.MethodGet, "/v1/orders/"+newID()+"?"+q, "")
		if r.status != 400 || r.problem(t).Errors[0].Field != "wait" {
			t.Errorf("%s: HTTP %d: %s", q, r.status, r.body)
		}
	}
	if r := s.send(t, http.MethodGet, "/v1/orders/"+newID()+"?wait=0s", ""); r.status != 404 {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
}
