package agent_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vendline/edge/agent"
	"vendline/edge/standin"
	"vendline/shared/wire"
)

func TestAWrongClockChangesNeitherOrderNorDelivery(t *testing.T) {
	for name, now := range map[string]time.Time{
		"1970": time.Unix(3, 0), "2023": time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), "tomorrow": time.Now().Add(24 * time.Hour),
		"before 1970": time.Date(1969, 7, 20, 0, 0, 0, 0, time.UTC),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := deadline(t)
			broker := startBroker(t, "127.0.0.1:0")
			cloud := startCloud(t, standin.Options{Broker: broker})
			clock := now
			a := startAgent(t, agent.Config{Cabinet: "C001", MQTT: broker, Data: t.TempDir(), Now: func() time.Time { return clock }})
			const n = 5
			for i := range n {
				body := fmt.Sprintf(`{"user":"u%d","lines":[{"sku":"cola","qty":1}]}`, i)
				if status, got := post(t, a, "/v1/scan-orders", body); status != http.StatusAccepted || got["seq"] != float64(i+1) {
					t.Fatalf("%d %v", status, got)
				}
			}
			seen, err := cloud.Until(ctx, func(s standin.Seen) bool { return s.Total == n })
			if err != nil || len(seen.Bad) > 0 {
				t.Fatal(err, seen.Bad)
			}
			for i, e := range seen.Events {
				if e.Seq != int64(i+1) || e.Order.User != fmt.Sprintf("u%d", i) || e.At != now.UnixMilli() {
					t.Errorf("event %d: %+v", i, e)
				}
			}
			if h, err := a.Health(); err != nil || h.OldestAge < 0 || h.Since < 0 {
				t.Errorf("health %+v, %v", h, err)
			}
		})
	}
}

func TestACabinetThatIsOfflineSellsAndDeliversAfterARestart(t *testing.T) {
	ctx := deadline(t)
	broker := startBroker(t, "127.0.0.1:0")
	dir := t.TempDir()
	a, stop := startStoppable(t, agent.Config{Cabinet: "C001", MQTT: "tcp://127.0.0.1:1", Data: dir})
	for range 3 {
		if status, got := post(t, a, "/v1/scan-orders", `{"user":"u1","lines":[{"sku":"cola","qty":1}]}`); status != http.StatusAccepted {
			t.Fatalf("%d %v", status, got)
		}
	}
	stop()
	cloud := startCloud(t, standin.Options{Broker: broker})
	a = startAgent(t, agent.Config{Cabinet: "C001", MQTT: broker, Data: dir})
	if _, err := cloud.Until(ctx, func(s standin.Seen) bool { return len(s.IDs()) == 3 }); err != nil {
		t.Fatal(err)
	}
	if h, err := a.Health(); err != nil || h.SetAside != "" || h.Gap {
		t.Fatalf("%+v, %v", h, err)
	}
}

func TestTheCloudIsToldOfADamagedOutbox(t *testing.T) {
	ctx := deadline(t)
	broker := startBroker(t, "127.0.0.1:0")
	cloud := startCloud(t, standin.Options{Broker: broker})
	dir := t.TempDir()
	a, stop := startStoppable(t, agent.Config{Cabinet: "C001", MQTT: broker, Data: dir})
	old := a.Epoch()
	stop()
	if err := os.WriteFile(filepath.Join(dir, "outbox.db"), []byte("the card was pulled"), 0o600); err != nil {
		t.Fatal(err)
	}
	a = startAgent(t, agent.Config{Cabinet: "C001", MQTT: broker, Data: dir})
	seen, err := cloud.Until(ctx, func(s standin.Seen) bool {
		return len(s.States) > 0 && s.States[len(s.States)-1].Epoch == a.Epoch()
	})
	if err != nil {
		t.Fatal(err)
	}
	birth := seen.States[len(seen.States)-1]
	if !birth.Gap || !birth.Online || birth.Epoch == old {
		t.Fatalf("birth %+v", birth)
	}
	h, err := a.Health()
	if err != nil || h.SetAside == "" || !h.Gap || h.Status != "degraded" {
		t.Fatalf("health %+v, %v", h, err)
	}
}

func TestStoppingLeavesNothingRunning(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	a, stop := startStoppable(t, agent.Config{Cabinet: "C001", MQTT: "tcp://127.0.0.1:1", Data: t.TempDir()})
	if status, _ := post(t, a, "/v1/scan-orders", `{"user":"u1","lines":[{"sku":"cola","qty":1}]}`); status != http.StatusAccepted {
		t.Fatal(status)
	}
	stop()
	http.DefaultClient.CloseIdleConnections()
}

func TestALongPollEndsWhenTheAgentStops(t *testing.T) {
	a, stop := startStoppable(t, agent.Config{Cabinet: "C001", MQTT: "tcp://127.0.0.1:1", Data: t.TempDir()})
	_, got := post(t, a, "/v1/scan-orders", `{"user":"u1","lines":[{"sku":"cola","qty":1}]}`)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		if resp, err := http.Get(a.URL() + "/v1/orders/" + got["id"].(string) + "?wait=60s"); err == nil {
			resp.Body.Close()
		}
	}()
	stop()
	<-heard
}

func TestAWildcardCanNotBeACabinet(t *testing.T) {
	for _, cabinet := range []string{"", "+", "#", "a/b"} {
		if _, err := agent.New(t.Context(), agent.Config{Cabinet: cabinet, Data: t.TempDir(), Listen: "127.0.0.1:0", MQTT: "tcp://127.0.0.1:1"}); err == nil {
			t.Errorf("cabinet %q was accepted", cabinet)
		}
	}
}

func TestStockThatTheCloudTellsIsOnTheLocalAPI(t *testing.T) {
	ctx := deadline(t)
	broker := startBroker(t, "127.0.0.1:0")
	cloud := startCloud(t, standin.Options{Broker: broker})
	a := startAgent(t, agent.Config{Cabinet: "C001", MQTT: broker, Data: t.TempDir()})
	if _, err := cloud.Until(ctx, func(s standin.Seen) bool { return len(s.States) > 0 }); err != nil {
		t.Fatal(err)
	}
	cloud.Send("C001", wire.ChannelCommand, wire.Command{V: 1, Cabinet: "C001", Kind: wire.CommandStock, Stock: []wire.StockLine{{SKU: "cola", Sellable: 3}}})
	for {
		if _, s := get(t, a, "/v1/stock"); s["status"] == "known" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("stock never became known")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
