package app_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/order"
)

// The whole service with its embedded parts: a shopper pays on the sandbox's
// page, and the order is paid by the sandbox's callback.
func TestAnOrderIsPaidOnTheEmbeddedSandboxsPage(t *testing.T) {
	for _, mode := range []string{app.ModeAsync, app.ModeSync} {
		t.Run(mode, func(t *testing.T) { payOnThePage(t, mode) })
	}
}

func payOnThePage(t *testing.T, mode string) {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	addr := l.Addr().String()
	check(t, l.Close())
	a, err := app.New(t.Context(), app.Config{
		Mode: mode, HTTP: addr, Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "embedded", Queue: "bolt:" + filepath.Join(dir, "q.db"),
		Sandbox: "embedded:" + filepath.Join(dir, "sandbox.db"),
	}, app.System(slog.New(slog.DiscardHandler)))
	check(t, err)
	defer a.Close()
	check(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	check(t, a.Ledger.AddCabinet(t.Context(), "C001", map[string]int64{"cola": 5}))
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx) }()
	defer func() { stop(); check(t, <-served) }()

	base := "http://" + addr
	var placed struct{ Order struct{ ID string } }
	ask(t, "POST", base+"/v1/orders", `{"cabinet":"C001","user":"ann","lines":[{"sku":"cola","qty":1}]}`, &placed)
	orderURL := base + "/v1/orders/" + placed.Order.ID
	var started struct{ Payment struct{ URL string } }
	ask(t, "POST", orderURL+"/payments", `{"provider":"sandbox"}`, &started)
	if !strings.HasPrefix(started.Payment.URL, base+"/sandbox/pay/") {
		t.Fatalf("the page is at %q", started.Payment.URL)
	}
	res, err := http.PostForm(started.Payment.URL, url.Values{"button": {"pay"}})
	check(t, err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK { // back at the page, by a redirect
		t.Errorf("the button answers %s", res.Status)
	}
	var got struct {
		Order   struct{ Status string }
		Payment struct{ Status string }
	}
	ask(t, "GET", orderURL+"?wait=20s", "", &got)
	if got.Order.Status != "CONSUMED" || got.Payment.Status != "paid" {
		t.Errorf("it is %+v", got)
	}
	res, err = http.Get(base + "/metrics")
	check(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	check(t, err)
	if !strings.Contains(string(text), `vendline_captures_total{outcome="paid"} 1`) {
		t.Error("the metrics do not tell of the payment")
	}
	if res, err = http.Post(base+"/sandbox/api", "application/json", strings.NewReader("{}")); err != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("the sandbox's API is open to everybody: %v, %v", res.Status, err)
	}
}

func ask(t *testing.T, method, url, body string, into any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	check(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "k1")
	client := &http.Client{Timeout: 30 * time.Second}
	res, err := client.Do(r)
	check(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	check(t, err)
	if res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %s", method, url, res.Status, b)
	}
	check(t, json.Unmarshal(b, into))
}

func TestAPaymentsFileSaysWhatIsWrongWithIt(t *testing.T) {
	for body, want := range map[string]string{
		`{"wechat":{"app":"wx"}}`: "unknown field",
		`{"wechat":{"app_id":"wx","merchant":"1","serial":"A","key_file":"none.pem","api_v3_key_file":"none"}}`: "none",
		`{"alipay":{"app_id":"2","seller":"2088","key_file":"file.json","alipay_key_file":"file.json"}}`:        "file.json",
	} {
		file := filepath.Join(t.TempDir(), "file.json")
		check(t, os.WriteFile(file, []byte(body), 0o600))
		if got, err := app.ReadProviders(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
