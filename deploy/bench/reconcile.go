package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"vendline/deploy/stack"
)

// Reconcile is a round over a large fleet, and the ordering that goes on meanwhile.
type Reconcile struct {
	Cabinets int     `json:"cabinets"`
	Rate     float64 `json:"orders_per_second"` // offered all the time, at 100 of the cabinets
	WarmMS   int64   `json:"warmup_ms"`         // loading all of them into Redis before
	TookMS   int64   `json:"took_ms"`
	Findings int     `json:"findings"`
	Frozen   int     `json:"frozen"`       // compared while their orders waited
	QuietP99 float64 `json:"quiet_p99_ms"` // of ordering, before
	BusyP99  float64 `json:"busy_p99_ms"`  // … during the round
	AfterP99 float64 `json:"after_p99_ms"` // … and after it, to tell what the machine does by itself
}

// String is the measurement for people.
func (r *Reconcile) String() string {
	return fmt.Sprintf("%d cabinets reconciled in %.1f s with %.0f orders/s going on (loaded before in %.1f s); %d findings, %d compared frozen;\n"+
		"ordering p99 %.1f ms meanwhile, %.1f ms before (%.2f×) and %.1f ms after", r.Cabinets, float64(r.TookMS)/1000, r.Rate, float64(r.WarmMS)/1000, r.Findings, r.Frozen,
		r.BusyP99, r.QuietP99, r.BusyP99/max(r.QuietP99, 0.1), r.AfterP99)
}

const (
	reconcileCabinets = 10_000
	reconcileRate     = 500
)

// reconcile measures Reconcile on a database of its own.
func reconcile(ctx context.Context, cfg Config, s *stack.Stack, d *stack.Description) (*Reconcile, error) {
	b := &scenario{cfg: cfg, stack: s, desc: d, out: Scenario{Mode: "async", Cabinets: expiryCabinets}, name: "reconcile"}
	if err := b.prepare(ctx); err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	defer b.db.Close()
	if err := b.fill(ctx); err != nil {
		return nil, fmt.Errorf("fill the fleet: %w", err)
	}
	if err := b.start(ctx); err != nil {
		return nil, fmt.Errorf("start vend-cloud: %w", err)
	}
	defer func() { _ = b.cloud.Stop() }()
	out := &Reconcile{Cabinets: reconcileCabinets, Rate: reconcileRate}
	began := time.Now()
	if _, err := b.stream(ctx, "/v1/fleet/warmup"); err != nil {
		return nil, err
	}
	out.WarmMS = time.Since(began).Milliseconds()
	t := target{addr: b.addr, cabinets: b.names(), skus: skus()}
	closed(ctx, t, Conns, 3*time.Second) // caches and plans
	if _, err := b.drained(ctx); err != nil {
		return nil, err
	}
	out.QuietP99 = open(ctx, t, reconcileRate, 4*Conns, cfg.Each).P99ms

	load, stop := context.WithCancel(ctx)
	defer stop()
	type ended struct {
		last map[string]any
		err  error
	}
	done := make(chan ended, 1)
	began = time.Now()
	go func() {
		defer stop()
		last, err := b.stream(ctx, "/v1/fleet/reconcile")
		out.TookMS = time.Since(began).Milliseconds()
		done <- ended{last, err}
	}()
	out.BusyP99 = open(load, t, reconcileRate, 4*Conns, 2*time.Minute).P99ms
	e := <-done
	if e.err != nil {
		return nil, e.err
	}
	rep, ok := e.last["report"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("no report of the round: %v", e.last)
	}
	findings, _ := rep["findings"].(float64)
	frozen, _ := rep["frozen"].(float64)
	out.Findings, out.Frozen = int(findings), int(frozen)
	out.AfterP99 = open(ctx, t, reconcileRate, 4*Conns, cfg.Each).P99ms
	return out, nil
}

// fill adds cabinets of six products until there are enough.
func (b *scenario) fill(ctx context.Context) error {
	const at = 500
	for from := expiryCabinets; from < reconcileCabinets; from += at {
		var cabinets, stock []string
		for n := from; n < min(from+at, reconcileCabinets); n++ {
			c := fmt.Sprintf("X%05d", n)
			cabinets = append(cabinets, fmt.Sprintf("('%s','g%d',0)", c, n))
			for _, sku := range skus()[:6] {
				stock = append(stock, fmt.Sprintf("('%s','%s',100,100,0,0,1)", c, sku))
			}
		}
		if _, err := b.db.ExecContext(ctx, "INSERT INTO trade_cabinet (cabinet_id, generation, created_at) VALUES "+strings.Join(cabinets, ",")); err != nil {
			return err
		}
		if _, err := b.db.ExecContext(ctx, "INSERT INTO trade_sku_stock (cabinet_id, sku_id, total, available, locked, sold, version) VALUES "+strings.Join(stock, ",")); err != nil {
			return err
		}
	}
	return nil
}

// stream asks for all cabinets and reads the answer to its last line.
func (b *scenario) stream(ctx context.Context, path string) (last map[string]any, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.addr+path, strings.NewReader(`{"all":true}`))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, res.Status)
	}
	s := bufio.NewScanner(res.Body)
	for s.Scan() {
		last = nil
		if err := json.Unmarshal(s.Bytes(), &last); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if last == nil {
		return nil, errors.Join(fmt.Errorf("%s: no answer", path), s.Err())
	}
	if text, _ := last["error"].(string); text != "" {
		return nil, fmt.Errorf("%s: %s", path, text)
	}
	return last, s.Err()
}
