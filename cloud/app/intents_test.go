package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/callback"
	"vendline/cloud/order"
)

// The whole service with its embedded parts: a crowd is taken in, as many as
// there are units are placed, the others are refused, and each is called back.
func TestACrowdIsTakenInPlacedAndCalledBack(t *testing.T) {
	for _, mode := range []string{app.ModeAsync, app.ModeSync} {
		t.Run(mode, func(t *testing.T) { shaveAPeak(t, mode) })
	}
}

func shaveAPeak(t *testing.T, mode string) {
	const secret, crowd, units = "a secret of more than sixteen bytes", 40, 25
	told := make(chan order.Outcome, 2*crowd)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var o order.Outcome
		if json.Unmarshal(body, &o) != nil || r.Header.Get("Vendline-Signature") !=
			callback.Sign([]byte(secret), r.Header.Get("Vendline-Timestamp"), r.Header.Get("Vendline-Id"), body) {
			t.Errorf("called back with %s", body)
			return
		}
		told <- o
	}))
	defer hook.Close()
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	addr := l.Addr().String()
	check(t, l.Close())
	a, err := app.New(t.Context(), app.Config{
		Mode: mode, HTTP: addr, Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "embedded", Queue: "bolt:" + filepath.Join(dir, "q.db"),
		CallbackSecret: secret, CallbackLoopback: true,
	}, app.System(slog.New(slog.DiscardHandler)))
	check(t, err)
	defer a.Close()
	check(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	check(t, a.Ledger.AddCabinet(t.Context(), "C001", map[string]int64{"cola": units}))
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx) }()
	defer func() { stop(); check(t, <-served) }()

	answers := make(chan int, crowd)
	for i := range crowd {
		go func() {
			body := fmt.Sprintf(`{"cabinet":"C001","user":"u%d","lines":[{"sku":"cola","qty":1}],"callback_url":"%s/hook"}`, i, hook.URL)
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/v1/orders", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", fmt.Sprint("k", i))
			r.Header.Set("Prefer", "respond-async")
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				answers <- 0
				return
			}
			_ = res.Body.Close()
			answers <- res.StatusCode
		}()
	}
	for range crowd {
		if got := <-answers; got != http.StatusAccepted {
			t.Errorf("HTTP %d", got)
		}
	}
	outcomes, seen := map[string]int{}, map[string]bool{}
	late := time.After(30 * time.Second)
	for len(seen) < crowd {
		select {
		case o := <-told:
			if !seen[o.Order.ID] { // a callback may come twice
				outcomes[o.Event]++
			}
			seen[o.Order.ID] = true
		case <-late:
			t.Fatalf("%d of %d were called back", len(seen), crowd)
		}
	}
	if outcomes["order.placed"] != units || outcomes["order.refused"] != crowd-units {
		t.Errorf("outcomes %v", outcomes)
	}
	for { // the last row goes after the last order is told of
		stats, err := a.Ledger.Backlog(t.Context())
		check(t, err)
		left := int64(0)
		for _, s := range stats {
			if s.Kind == "intent" || s.Kind == "callback" {
				left += s.Depth
			}
		}
		if left == 0 {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			t.Fatalf("%d rows are left", left)
		}
	}
}
