package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"vendline/edge/agent"
	"vendline/edge/standin"
	"vendline/edge/standin/broker"
)

// patience bounds waits for things that must happen; no test depends on how
// long they take.
const patience = 30 * time.Second

func TestAScannedOrderIsOnDiskThenDecidedByTheCloud(t *testing.T) {
	ctx := deadline(t)
	broker := startBroker(t, "127.0.0.1:0")
	cloud := startCloud(t, standin.Options{Broker: broker})
	a := startAgent(t, agent.Config{Cabinet: "C001", MQTT: broker, Data: t.TempDir()})

	status, posted := post(t, a, "/v1/scan-orders", `{"user":"u1","lines":[{"sku":"cola","qty":2}]}`)
	if status != http.StatusAccepted || posted["status"] != "pending" {
		t.Fatalf("POST answered %d %v", status, posted)
	}
	status, got := get(t, a, "/v1/orders/"+posted["id"].(string)+"?wait=20s")
	if status != http.StatusOK || got["status"] != "accepted" || got["amount"] != 350.0 {
		t.Fatalf("GET answered %d %v", status, got)
	}
	seen, err := cloud.Until(ctx, func(s standin.Seen) bool { return s.Total == 1 })
	if err != nil || len(seen.Bad) > 0 {
		t.Fatal(err, seen.Bad)
	}
	if e := seen.Events[0]; e.Epoch != a.Epoch() || e.Seq != 1 || e.Order.User != "u1" {
		t.Fatalf("the cloud got %+v", e)
	}
	if a.Depth() != 0 {
		t.Fatalf("%d rows still wait", a.Depth())
	}
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func startBroker(t *testing.T, addr string) string {
	t.Helper()
	b, err := broker.Start(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Stop() })
	return b.URL()
}

func startCloud(t *testing.T, opt standin.Options) *standin.Cloud {
	t.Helper()
	c, err := standin.Start(deadline(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// startAgent runs an agent until the test ends.
func startAgent(t *testing.T, cfg agent.Config) *agent.Agent {
	t.Helper()
	a, _ := startStoppable(t, cfg)
	return a
}

func startStoppable(t *testing.T, cfg agent.Config) (a *agent.Agent, stop func()) {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	a, err := agent.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	t.Cleanup(stop)
	return a, stop
}

func post(t *testing.T, a *agent.Agent, path, body string) (int, map[string]any) {
	t.Helper()
	resp, err := http.Post(a.URL()+path, "application/json", bytes.NewReader([]byte(body)))
	return answer(t, resp, err)
}

func get(t *testing.T, a *agent.Agent, path string) (int, map[string]any) {
	t.Helper()
	resp, err := http.Get(a.URL() + path)
	return answer(t, resp, err)
}

func answer(t *testing.T, resp *http.Response, err error) (int, map[string]any) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s answered %q", resp.Request.URL, data)
	}
	return resp.StatusCode, v
}
