package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/payment"
	"vendline/cloud/payment/sandbox"
	"vendline/deploy/stack"
)

// Callbacks is how soon a provider's callbacks are answered: each is durable
// before its answer.
type Callbacks struct {
	Rate     float64 `json:"callbacks_per_second"`
	Seconds  float64 `json:"seconds"`
	Answered int64   `json:"answered"`
	Errors   int64   `json:"errors"`
	P50ms    float64 `json:"p50_ms"`
	P99ms    float64 `json:"p99_ms"`
	PaidMS   int64   `json:"paid_ms"` // from the last callback until every order of them is CONSUMED
}

// String is the measurement for people.
func (c *Callbacks) String() string {
	return fmt.Sprintf("%.0f payment callbacks/s for %.0f s: %d answered, p50 %.1f ms, p99 %.1f ms, errors %d; all paid %.1f s after the last",
		c.Rate, c.Seconds, c.Answered, c.P50ms, c.P99ms, c.Errors, float64(c.PaidMS)/1000)
}

const (
	callbackRate = 200
	callbackFor  = time.Minute
)

// callbacks pays orders and calls back at a steady rate.
func callbacks(ctx context.Context, cfg Config, s *stack.Stack, d *stack.Description) (*Callbacks, error) {
	b := &scenario{cfg: cfg, stack: s, desc: d, out: Scenario{Mode: "async", Cabinets: expiryCabinets}, name: "callbacks"}
	if err := b.prepare(ctx); err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	defer b.db.Close()
	bank, err := openBank(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer bank.close()
	if err := b.start(ctx, bank.flags()...); err != nil {
		return nil, fmt.Errorf("start vend-cloud: %w", err)
	}
	defer func() { _ = b.cloud.Stop() }()
	n := int(callbackRate * callbackFor.Seconds())
	notes, err := b.charge(ctx, bank, n)
	if err != nil {
		return nil, err
	}
	out := &Callbacks{Rate: callbackRate, Seconds: callbackFor.Seconds()}
	url := "http://" + b.addr + "/v1/payments/sandbox/notify"
	start := time.Now()
	var next, bad atomic.Int64
	lat := each(64, func(int) (mine []time.Duration) {
		for ctx.Err() == nil {
			i := next.Add(1) - 1
			if int(i) >= n {
				break
			}
			due := start.Add(time.Duration(float64(i) / callbackRate * float64(time.Second)))
			time.Sleep(time.Until(due))
			note, err := bank.server.Callback(notes[i]) // signed now, as a provider would
			if err == nil {
				err = deliver(ctx, bank.client, url, note)
			}
			if err != nil {
				bad.Add(1)
				continue
			}
			mine = append(mine, time.Since(due))
		}
		return mine
	})
	end := time.Now()
	out.Answered, out.Errors = int64(len(lat)), bad.Load()
	out.P50ms, out.P99ms = quantile(lat, .50), quantile(lat, .99)
	for {
		var paid int
		if err := b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM trade_order WHERE status = 'CONSUMED'").Scan(&paid); err != nil {
			return nil, fmt.Errorf("count paid orders: %w", err)
		}
		if paid == n {
			out.PaidMS = time.Since(end).Milliseconds()
			return out, nil
		}
		if time.Since(end) > time.Minute {
			return nil, fmt.Errorf("%d of %d paid orders are CONSUMED a minute after the last callback", paid, n)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// charge places n orders, opens a charge for each, and pays it. It returns the
// trade numbers; no callback has been sent.
func (b *scenario) charge(ctx context.Context, bank *bank, n int) ([]string, error) {
	trades := make([]string, n)
	var next atomic.Int64
	var mu sync.Mutex
	var failed error
	each(32, func(int) []time.Duration {
		for ctx.Err() == nil {
			i := int(next.Add(1) - 1)
			if i >= n {
				return nil
			}
			id := app.NewID()
			t := target{cabinets: b.names(), skus: skus()}
			err := postJSON(ctx, bank.client, "http://"+b.addr+"/v1/orders", id, t.body(nil, i))
			if err == nil {
				err = postJSON(ctx, bank.client, "http://"+b.addr+"/v1/orders/"+id+"/payments", "", []byte(`{"provider":"sandbox"}`))
			}
			trades[i] = payment.TradeNo(id)
			if err == nil {
				err = bank.server.Pay(trades[i])
			}
			if err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
				return nil
			}
		}
		return nil
	})
	return trades, failed
}

// bank is a sandbox provider whose callbacks the bench sends itself.
type bank struct {
	server *sandbox.Server
	http   *http.Server
	client *http.Client
	url    string
	secret string // a file
}

func openBank(ctx context.Context, dir string) (*bank, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &bank{url: "http://" + l.Addr().String(), secret: filepath.Join(dir, "bank-secret"),
		client: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	secret := rand.Text()
	if err := os.WriteFile(b.secret, []byte(secret), 0o600); err != nil {
		return nil, err
	}
	if b.server, err = sandbox.NewServer(sandbox.Options{PublicURL: b.url, Secret: secret, Merchant: "bench"}); err != nil {
		return nil, err
	}
	b.http = &http.Server{Handler: b.server, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = b.http.Serve(l) }() // ends with close
	return b, nil
}

func (b *bank) flags() []string {
	return []string{"--pay-sandbox-url", b.url, "--pay-sandbox-secret-file", b.secret, "--pay-sandbox-merchant", "bench"}
}

func (b *bank) close() { _ = b.http.Close() }

func deliver(ctx context.Context, c *http.Client, url string, n payment.Notification) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(n.Body))
	if err != nil {
		return err
	}
	req.Header = n.Header.Clone()
	return answered(c, req)
}

func postJSON(ctx context.Context, c *http.Client, url, key string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return answered(c, req)
}

func answered(c *http.Client, req *http.Request) error {
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s answered %s: %.200s", req.URL.Path, resp.Status, text)
	}
	return nil
}
