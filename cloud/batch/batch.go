// Package batch, step 8 of 8, merges the statements of many queued messages
// into one transaction per shard: deduct log and stock rows together.
package batch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"vendline/cloud/queue"
	"vendline/cloud/statement"
	"vendline/shared/group"
)

// Ledger applies statements; *ledger.Ledger does.
type Ledger interface {
	Apply(ctx context.Context, msgs []statement.Message) (statement.Applied, error)
	SettleShortage(ctx context.Context, cabinet, sku string) (*statement.Shortage, error)
	Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
}

// Holds is told which orders the deduct log knows by now. Losing a call costs
// nothing: the orphan sweep asks the ledger about whatever stays.
type Holds interface {
	Settle(ctx context.Context, known []statement.Settled) error
}

// Options bound a consumer.
type Options struct {
	Shards int           // as the ledger's; 0 means 4
	Linger time.Duration // how long a lone message waits for company; 0 means 5 ms
	Log    *slog.Logger
	// Short is told of every physical shortage that was settled; may be nil.
	Short func(statement.Shortage)
}

// Consumer handles the stock topic.
type Consumer struct {
	ledger Ledger
	holds  Holds
	opt    Options
	shards []*group.Group[work]
	settle chan []statement.Settled
	done   sync.WaitGroup
}

type work struct{ msgs []statement.Message }

// Weight lets a work of many messages leave without waiting for company.
func (w *work) Weight() int { return len(w.msgs) }

// enough is how many messages a transaction does not wait for more of.
const enough = 32

// New starts a consumer's workers, one per shard. Close must be called, after
// the queue has stopped delivering. holds may be nil (no Redis).
func New(l Ledger, holds Holds, opt Options) *Consumer {
	if opt.Shards <= 0 {
		opt.Shards = 4
	}
	if opt.Linger <= 0 {
		opt.Linger = 5 * time.Millisecond
	}
	c := &Consumer{ledger: l, holds: holds, opt: opt, settle: make(chan []statement.Settled, 256)}
	for range opt.Shards {
		c.shards = append(c.shards, group.New(group.Options{Max: enough, Linger: opt.Linger}, c.apply))
	}
	c.done.Go(c.settling)
	return c
}

// Handle is the queue's handler. It returns nil, which acknowledges the
// messages, only when all of them are applied, waiting in the outbox, or buried.
//
// A malformed message goes to the dead letters at once and holds up nobody. The
// database being away is no message's fault: Handle waits for it.
func (c *Consumer) Handle(ctx context.Context, msgs []queue.Message) error {
	byShard := map[int]*work{}
	for _, m := range msgs {
		sm, err := statement.Decode(m.Body)
		if err != nil {
			if err := c.ledger.Bury(ctx, "queue", err.Error(), m.Body, map[string]string{"topic": m.Topic, "key": m.Key}); err != nil {
				return fmt.Errorf("batch: bury a malformed message: %w", err)
			}
			continue
		}
		k := m.Shard
		if len(sm.Statements) > 0 {
			k = statement.Shard(sm.Statements[0].Cabinet, len(c.shards))
		}
		if byShard[k] == nil {
			byShard[k] = &work{}
		}
		byShard[k].msgs = append(byShard[k].msgs, sm)
	}
	errs := make(chan error, len(byShard))
	for k, w := range byShard {
		go func() { errs <- c.shards[k%len(c.shards)].Do(ctx, w) }()
	}
	var failed error
	for range byShard {
		if err := <-errs; err != nil {
			failed = fmt.Errorf("batch: apply: %w", err)
		}
	}
	return failed
}

// Close finishes what is under way.
func (c *Consumer) Close() {
	for _, g := range c.shards {
		g.Close()
	}
	close(c.settle)
	c.done.Wait()
}

// apply is one shard's transaction. Whatever it returns is true of all items:
// Apply itself parts the bad from the good.
func (c *Consumer) apply(ctx context.Context, items []*work) []error {
	var msgs []statement.Message
	for _, w := range items {
		msgs = append(msgs, w.msgs...)
	}
	a, err := c.ledger.Apply(ctx, msgs)
	if err != nil {
		errs := make([]error, len(items))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	c.settled(a.Known)
	c.short(ctx, a.Waiting)
	return nil
}

// settled hands the known holds to Redis after the commit, without making the
// queue wait for it.
func (c *Consumer) settled(known []statement.Statement) {
	if c.holds == nil || len(known) == 0 {
		return
	}
	list := make([]statement.Settled, 0, len(known))
	for _, s := range known {
		if s.State == statement.PreReserved || s.State == statement.Consumed {
			list = append(list, statement.Settled{Cabinet: s.Cabinet, ID: s.ID, Version: s.Version})
		}
	}
	if len(list) == 0 {
		return
	}
	select {
	case c.settle <- list:
	default: // Redis is slow or away; the sweep will ask
	}
}

func (c *Consumer) settling() {
	for list := range c.settle {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if err := c.holds.Settle(ctx, list); err != nil {
			c.opt.Log.Debug("holds not settled; the sweep will", "holds", len(list), "error", err)
		}
		cancel()
	}
}

// short asks the truth about SKUs whose statements had to wait.
func (c *Consumer) short(ctx context.Context, waiting []statement.Statement) {
	type key struct{ cabinet, sku string }
	asked := map[key]bool{}
	for _, s := range waiting {
		for _, w := range s.Lines {
			k := key{s.Cabinet, w.SKU}
			if asked[k] {
				continue
			}
			asked[k] = true
			found, err := c.ledger.SettleShortage(ctx, k.cabinet, k.sku)
			if err != nil {
				c.opt.Log.Warn("shortage not settled; its statements will ask again", "cabinet", k.cabinet, "sku", k.sku, "error", err)
			}
			if found == nil {
				continue
			}
			c.opt.Log.Error("physical shortage", "cabinet", k.cabinet, "sku", k.sku, "losers", len(found.Losers), "drift", found.Drift)
			if c.opt.Short != nil {
				c.opt.Short(*found)
			}
		}
	}
}
