//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vendline/edge/standin"
	"vendline/edge/standin/broker"
)

// TestMain lets this test binary be the agent, so that a kill is a real one.
func TestMain(m *testing.M) {
	if os.Getenv("VEND_EDGE_TEST_MAIN") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestKillNineInMidSaleLosesNoPromisedOrder(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := broker.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Stop() })
	cloud, err := standin.Start(ctx, standin.Options{Broker: b.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Stop)
	dir := t.TempDir()
	var mu sync.Mutex
	promised := make(map[string]bool)
	for range 3 {
		e := startEdge(ctx, t, dir, b.URL())
		var all sync.WaitGroup
		enough := make(chan struct{})
		var once sync.Once
		for range 8 {
			all.Go(func() {
				for n := 0; ; n++ {
					id, ok := e.sell(ctx)
					if !ok {
						return // it was killed
					}
					mu.Lock()
					promised[id] = true
					mu.Unlock()
					if n == 20 {
						once.Do(func() { close(enough) })
					}
				}
			})
		}
		<-enough
		_ = e.cmd.Process.Kill()
		all.Wait()
		_ = e.cmd.Wait()
	}
	e := startEdge(ctx, t, dir, b.URL())
	if _, err := cloud.Until(ctx, func(s standin.Seen) bool {
		got := s.IDs()
		for id := range promised {
			if got[id] == 0 {
				return false
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := e.cmd.Wait(); err != nil {
		t.Fatalf("SIGTERM: %v\n%s", err, e.log)
	}
}

func TestADamagedFileIsFoundByTheChildAndSetAside(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	e := startEdge(ctx, t, dir, "tcp://127.0.0.1:1")
	for range 50 {
		e.sell(ctx)
	}
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
	path := filepath.Join(dir, "outbox.db")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Fatal(err)
	}
	e = startEdge(ctx, t, dir, "tcp://127.0.0.1:1")
	h := e.health(ctx)
	if h["gap"] != true || !strings.Contains(h["quarantined_file"].(string), "outbox.db.damaged-") {
		t.Fatalf("health %v", h)
	}
	if _, ok := e.sell(ctx); !ok {
		t.Fatal("the cabinet does not sell on")
	}
}

func TestFlagsThatCanNotBeMeantAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--cabinet", "C001", "--data", "/tmp/x", "--listen", "0.0.0.0:0"},
		{"--cabinet", "+", "--data", "/tmp/x"},
		{"--cabinet", "C001", "--data", "/tmp/x", "--max-size", "many"},
		{"--cabinet", "C001", "--data", "/tmp/x", "--max-size", "1KiB"},
		{"--cabinet", "C001", "--data", "/tmp/x", "--mqtt-password-file", "/nonexistent"},
	} {
		args[3] = t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what is accepted after all must not run on
		if err := run(ctx, args); err == nil || strings.Contains(err.Error(), "context canceled") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestSizesAreReadInBinaryUnits(t *testing.T) {
	for text, want := range map[string]size{"256MiB": 256 << 20, "1GiB": 1 << 30, "64KiB": 64 << 10, "4096": 4096} {
		var s size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s: %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "-1", "0", "1.5MiB", "9999999999GiB", "256MB"} {
		var s size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %d", text, s)
		}
	}
}

type edge struct {
	cmd *exec.Cmd
	url string
	log *bytes.Buffer
}

func startEdge(ctx context.Context, t *testing.T, dir, mqtt string) *edge {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	e := &edge{url: "http://" + addr, log: new(bytes.Buffer)}
	e.cmd = exec.CommandContext(ctx, os.Args[0], "--cabinet", "C001", "--data", dir, "--listen", addr, "--mqtt", mqtt)
	e.cmd.Env = append(os.Environ(), "VEND_EDGE_TEST_MAIN=1")
	e.cmd.Stderr = e.log
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.cmd.Process.Kill(); _ = e.cmd.Wait() })
	for e.health(ctx) == nil {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the agent never answered:\n%s", e.log)
		}
	}
	return e
}

func (e *edge) health(ctx context.Context) (h map[string]any) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+"/v1/health", nil)
	if err != nil {
		return nil
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&h); err != nil {
		return nil
	}
	return h
}

// sell posts an order and reports its id, if it was promised.
func (e *edge) sell(ctx context.Context) (string, bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/v1/scan-orders",
		strings.NewReader(`{"user":"u1","lines":[{"sku":"cola","qty":1}]}`))
	if err != nil {
		return "", false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	var got struct{ ID string }
	err = json.NewDecoder(resp.Body).Decode(&got)
	return got.ID, err == nil && resp.StatusCode == http.StatusAccepted
}
