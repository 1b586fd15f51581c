// Package timers ends holds whose time is over. The queue's timer messages are
// hints that make it prompt; expires_at in MySQL with the sweeper is the truth,
// so that a queue that loses every hint delays the end by one sweep.
package timers

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"vendline/cloud/outbox"
	"vendline/cloud/queue"
)

// Orders ends holds.
type Orders interface {
	// Expire ends those of ids whose time is over and says how many it ended.
	Expire(ctx context.Context, ids []string) (int, error)
}

// Ledger finds holds that nobody was reminded of.
type Ledger interface {
	Overdue(ctx context.Context, at time.Time, n int) ([]string, error)
}

// Timers ends holds.
type Timers struct {
	Orders Orders
	Ledger Ledger
	Clock  func() time.Time
	Every  time.Duration // between sweeps; 0 means 5 s
	Log    *slog.Logger
}

// sweepBatch is how many holds are ended at once. Small, so that the orders that
// come meanwhile find no long queue; see Sweep.
const sweepBatch = 100

// restful is how long a sweep takes its time.
const restful = 20 * time.Second

// Handle is the queue's handler for hints. An unreadable hint is dropped: the
// sweeper does not need it.
func (t *Timers) Handle(ctx context.Context, msgs []queue.Message) error {
	for _, m := range msgs {
		var hint outbox.Timer
		if err := json.Unmarshal(m.Body, &hint); err != nil {
			t.Log.Warn("timer hint dropped", "key", m.Key, "error", err)
			continue
		}
		if _, err := t.Orders.Expire(ctx, hint.IDs); err != nil {
			return fmt.Errorf("timers: expire: %w", err)
		}
	}
	return nil
}

// Run sweeps until ctx ends.
func (t *Timers) Run(ctx context.Context) {
	every := t.Every
	if every <= 0 {
		every = 5 * time.Second
	}
	for {
		n, err := t.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			t.Log.Warn("sweep failed; the next one goes on", "ended", n, "error", err)
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
	}
}

// Sweep ends all overdue holds there are now, and says how many. When thousands
// end together it rests as long as it works, for a while: whose stock comes back
// a few seconds later loses nothing, while shoppers who order wait for every
// answer. No hold may outlive its end by a minute, so then it works on.
func (t *Timers) Sweep(ctx context.Context) (int, error) {
	total := 0
	for start := time.Now(); ; {
		began := time.Now()
		ids, err := t.Ledger.Overdue(ctx, t.Clock(), sweepBatch)
		if err != nil || len(ids) == 0 {
			return total, err
		}
		n, err := t.Orders.Expire(ctx, ids)
		total += n
		if err != nil || n == 0 || len(ids) < sweepBatch {
			return total, err
		}
		if time.Since(start) > restful {
			continue
		}
		select {
		case <-time.After(time.Since(began)):
		case <-ctx.Done():
			return total, ctx.Err()
		}
	}
}
