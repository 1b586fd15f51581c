package bench

import (
	"context"
	"fmt"
	"time"

	"vendline/deploy/stack"
)

// Expiry is what happens when many unpaid holds end in the same second.
type Expiry struct {
	Holds      int     `json:"holds"`
	Rate       float64 `json:"orders_per_second"` // offered all the time
	QuietP99   float64 `json:"quiet_p99_ms"`      // of ordering, before
	BusyP99    float64 `json:"busy_p99_ms"`       // … while the holds end
	BackMS     int64   `json:"back_ms"`           // from the end of the holds until all their stock can be sold again
	RolledMS   int64   `json:"rolled_back_ms"`    // … until the last is rolled back in MySQL
	BusyErrors int64   `json:"busy_errors"`
}

// String is the measurement for people.
func (e *Expiry) String() string {
	return fmt.Sprintf("%d holds end in the same second, with %.0f orders/s going on: rolled back after %.1f s, stock back after %.1f s;\n"+
		"ordering p99 %.1f ms meanwhile, %.1f ms before (%.1f×), errors %d", e.Holds, e.Rate, float64(e.RolledMS)/1000, float64(e.BackMS)/1000,
		e.BusyP99, e.QuietP99, e.BusyP99/max(e.QuietP99, 0.1), e.BusyErrors)
}

// Holds that end together, and the ordering that goes on meanwhile.
const (
	expiryHolds    = 20_000
	expiryRate     = 500
	expiryCabinets = 100
)

// expiry measures Expiry on a database of its own.
func expiry(ctx context.Context, cfg Config, s *stack.Stack, d *stack.Description) (*Expiry, error) {
	b := &scenario{cfg: cfg, stack: s, desc: d, out: Scenario{Mode: "async", Cabinets: expiryCabinets}, name: "expiry"}
	if err := b.prepare(ctx); err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	defer b.db.Close()
	if err := b.start(ctx); err != nil {
		return nil, fmt.Errorf("start vend-cloud: %w", err)
	}
	defer func() { _ = b.cloud.Stop() }()
	t := target{addr: b.addr, cabinets: b.names(), skus: skus()}
	for held := int64(0); held < expiryHolds; {
		held += closed(ctx, t, Conns, time.Second).Accepted
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if _, err := b.drained(ctx); err != nil {
		return nil, err
	}
	out := &Expiry{Holds: expiryHolds, Rate: expiryRate}
	out.QuietP99 = open(ctx, t, expiryRate, 4*Conns, cfg.Each).P99ms

	ends := time.Now().Add(time.Second)
	res, err := b.db.ExecContext(ctx, "UPDATE trade_order SET hold_until = ?, expires_at = ? WHERE status = 'PRE_RESERVED' ORDER BY created_at LIMIT ?",
		ends.UnixMilli(), ends.UnixMilli(), expiryHolds)
	if err != nil {
		return nil, fmt.Errorf("let holds end together: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != expiryHolds {
		return nil, fmt.Errorf("%d holds are to end together, want %d (%v)", n, expiryHolds, err)
	}
	back := make(chan error, 1)
	load, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		back <- b.back(ctx, ends, out)
	}()
	time.Sleep(time.Until(ends))
	busy := open(load, t, expiryRate, 4*Conns, 2*time.Minute)
	out.BusyP99, out.BusyErrors = busy.P99ms, busy.Errors
	return out, <-back
}

// back waits until what ended is rolled back, and its stock is back in MySQL and
// in Redis.
func (b *scenario) back(ctx context.Context, ends time.Time, out *Expiry) error {
	wait := func(query string, into *int64) error {
		for {
			var n int64
			if err := b.db.QueryRowContext(ctx, query, ends.UnixMilli()).Scan(&n); err != nil {
				return fmt.Errorf("watch the holds end: %w", err)
			}
			if n == 0 {
				*into = time.Since(ends).Milliseconds()
				return nil
			}
			if time.Since(ends) > 2*time.Minute {
				return fmt.Errorf("%d are left after 2 min: %s", n, query)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	if err := wait("SELECT COUNT(*) FROM trade_order WHERE hold_until <= ?", &out.RolledMS); err != nil {
		return err
	}
	// The rows that tell stock and Redis go in the transactions that find it done.
	var last int64
	if err := b.db.QueryRowContext(ctx, "SELECT MAX(changed_at) FROM trade_order WHERE status = 'ROLLBACKED'").Scan(&last); err != nil {
		return fmt.Errorf("watch the holds end: %w", err)
	}
	return wait(fmt.Sprintf("SELECT COUNT(*) FROM local_msg WHERE kind IN ('stock', 'redis') AND created_at <= %d AND created_at >= ?", last), &out.BackMS)
}
