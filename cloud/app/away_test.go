package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/order"
	"vendline/deploy/stack"
	"vendline/shared/wire"
)

// said keeps what the service logs.
type said struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (s *said) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.out.String(), text)
}

// A service that starts while Redis is away sells, says so, and bounds itself.
// Redis comes back with old data, then with none: each time the first touch
// rebuilds it, and orders go by it again.
func TestTheServiceStartsAndSellsWithoutRedis(t *testing.T) {
	if testing.Short() {
		return
	}
	const units = 1000
	s := stack.Own(t, stack.Options{Redis: true})
	must(t, s.Redis.Kill())
	var log said
	dir := t.TempDir()
	a, err := app.New(t.Context(), app.Config{
		HTTP: "127.0.0.1:0", Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "redis://" + s.Redis.Addr(),
		Queue: "bolt:" + filepath.Join(dir, "q.db"), Holds: -1, FallbackRate: 4,
	}, app.System(slog.New(slog.NewTextHandler(&log, nil))))
	must(t, err)
	defer a.Close()
	if !log.has("Redis does not answer at the start") {
		t.Error("it does not say that it starts without Redis")
	}
	must(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	must(t, a.Ledger.AddCabinet(t.Context(), "C001", map[string]int64{"cola": units}))
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx) }()
	defer func() { stop(); must(t, <-served) }()
	c := shopper{t: t, url: "http://" + a.HTTPAddr()}

	if status, body := c.ready(); status != http.StatusOK || !strings.Contains(body, `"degraded":[{"field":"stock"`) {
		t.Errorf("/readyz: %d %s", status, body)
	}
	sold := c.sell(1)
	for turned := 0; turned < 3; { // the bound is 4 a second, and a burst of one
		switch status, after, body := c.buy(); status {
		case http.StatusCreated:
			sold++
		case http.StatusServiceUnavailable:
			turned++
			if n, err := strconv.Atoi(after); err != nil || n < 1 || n > 4 || !strings.Contains(body, `"code":"overloaded"`) {
				t.Errorf("Retry-After %q with %s", after, body)
			}
		default:
			t.Fatalf("HTTP %d %s", status, body)
		}
	}

	// goOn waits for Redis, and for an order by it.
	goOn := func() {
		t.Helper()
		must(t, s.Redis.Start(t.Context()))
		c.await("Redis is back", func() bool { _, body := c.ready(); return !strings.Contains(body, "degraded") })
		before := c.metric("vendline_fallback_orders_total")
		sold += c.sell(5)
		if after := c.metric("vendline_fallback_orders_total"); after != before {
			t.Errorf("%s orders went by the ledger with Redis there, %s before", after, before)
		}
		c.await(fmt.Sprint(units-sold, " are left"), func() bool {
			live, _ := a.Stock.Sellable(t.Context(), "C001")
			return live["cola"] == int64(units-sold)
		})
	}
	// without sells while it is away.
	without := func() {
		t.Helper()
		must(t, s.Redis.Kill())
		c.await("Redis is away", func() bool { _, body := c.ready(); return strings.Contains(body, "degraded: orders go by the ledger") })
		c.await("orders go by the ledger", func() bool { return c.metric("vendline_stock_breaker_state") == "2" })
		sold += c.sell(3)
	}
	goOn()
	without()
	goOn() // with what was appended before it was killed
	without()
	must(t, os.RemoveAll(filepath.Join(s.Dir, "redis", "appendonlydir")))
	goOn() // with nothing
}

// shopper buys one cola at a time over HTTP.
type shopper struct {
	t   *testing.T
	url string
}

func (c shopper) do(r *http.Request) (status int, header http.Header, body string) {
	c.t.Helper()
	res, err := http.DefaultClient.Do(r)
	must(c.t, err)
	defer res.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(res.Body)
	must(c.t, err)
	return res.StatusCode, res.Header, b.String()
}

func (c shopper) get(path string) (int, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+path, nil)
	must(c.t, err)
	status, _, body := c.do(r)
	return status, body
}

func (c shopper) ready() (int, string) { c.t.Helper(); return c.get("/readyz") }

func (c shopper) metric(name string) string {
	c.t.Helper()
	_, body := c.get("/metrics")
	for line := range strings.Lines(body) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	c.t.Fatalf("there is no metric %s", name)
	return ""
}

// buy asks once, as a new shopper.
func (c shopper) buy() (status int, after, body string) {
	c.t.Helper()
	id := app.NewID()
	ask, err := json.Marshal(map[string]any{"cabinet": "C001", "user": "u" + id, "lines": []wire.Line{{SKU: "cola", Qty: 1}}})
	must(c.t, err)
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+"/v1/orders", bytes.NewReader(ask))
	must(c.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", id)
	status, header, body := c.do(r)
	return status, header.Get("Retry-After"), body
}

// sell sells n, whatever is asked for meanwhile.
func (c shopper) sell(n int) int {
	c.t.Helper()
	left := n
	c.await(fmt.Sprint(n, " are sold"), func() bool {
		switch status, _, body := c.buy(); status {
		case http.StatusCreated:
			left--
		case http.StatusServiceUnavailable:
		default:
			c.t.Fatalf("HTTP %d %s", status, body)
		}
		return left == 0
	})
	return n
}

func (c shopper) await(what string, is func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeoutCause(c.t.Context(), time.Minute, errors.New("it does not come about: "+what))
	defer cancel()
	for !is() {
		if ctx.Err() != nil {
			c.t.Fatal(context.Cause(ctx))
		}
		time.Sleep(20 * time.Millisecond)
	}
}
