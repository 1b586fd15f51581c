package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"vendline/cloud/api"
	"vendline/cloud/order"
)

// memory is an Orders without servers behind it: what is left is the handler.
type memory struct{ fakeOrders }

func (memory) Place(_ context.Context, r order.Request) (order.Order, bool, error) {
	now := time.UnixMilli(1_790_000_000_123).UTC()
	lines := make([]order.Line, len(r.Lines))
	for i, l := range r.Lines {
		lines[i] = order.Line{SKU: l.SKU, Qty: l.Qty, Price: 250}
	}
	return order.Order{ID: r.ID, Cabinet: r.Cabinet, User: r.User, Status: order.PreReserved, Version: 1,
		Amount: 750, Currency: "EUR", Lines: lines, CreatedAt: now, ExpiresAt: now.Add(15 * time.Minute)}, false, nil
}

func handler(b *testing.B) http.Handler {
	h, err := api.NewServer(api.Options{Orders: memory{}, Truth: noTruth{}, Catalogue: noCatalogue{}, ID: newID})
	check(b, err)
	return h
}

// sink is a ResponseWriter that costs nothing.
type sink struct{ h http.Header }

func (s *sink) Header() http.Header         { return s.h }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

func BenchmarkPlaceHandler(b *testing.B) {
	h := handler(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		w := &sink{h: http.Header{}}
		body := strings.NewReader(basket)
		r := httptest.NewRequest(http.MethodPost, "/v1/orders", nil)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "0190a7d2-4b1c-7000-8000-0123456789ab")
		r.ContentLength = int64(len(basket))
		for pb.Next() {
			body.Reset(basket)
			r.Body = io.NopCloser(body)
			clear(w.h)
			h.ServeHTTP(w, r)
		}
	})
}

// The same through net/http and a loopback connection, client included.
func BenchmarkPlaceOverLoopback(b *testing.B) {
	s := httptest.NewServer(handler(b))
	b.Cleanup(s.Close)
	s.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, _ := http.NewRequest(http.MethodPost, s.URL+"/v1/orders", strings.NewReader(basket))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", "0190a7d2-4b1c-7000-8000-0123456789ab")
			if status(s.Client().Do(r)) != http.StatusCreated {
				b.Fail()
			}
		}
	})
}
