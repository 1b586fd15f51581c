// Package relay, step 7 of 8, sends outbox rows to the queue: statements at
// once, timers for later. A stock row stays in the table until step 8 has
// applied it, so what the queue loses is sent again; a timer row goes when the
// queue has it, because the sweeper finds what a lost hint would have told.
package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"vendline/cloud/outbox"
	"vendline/cloud/queue"
)

// Topics of the queue.
type Topics struct {
	Stock string // statements, one queue per shard
	Timer string // hints that holds end
}

// DefaultTopics are the names in production.
func DefaultTopics() Topics { return Topics{Stock: "StockTopic", Timer: "TimerTopic"} }

// Relay sends rows.
type Relay struct {
	Sender queue.Sender
	Store  outbox.Store
	Topics Topics
}

// Stock is the carrier of stock rows. Dies before SendOK: the row's lease ends
// and it is sent again. Dies after: the same, and step 8 finds nothing to do.
func (r *Relay) Stock(ctx context.Context, rows []outbox.Row) error {
	msgs := make([]queue.Message, len(rows))
	for i, row := range rows {
		msgs[i] = queue.Message{Topic: r.Topics.Stock, Key: row.ID, Shard: row.Shard, Body: row.Payload}
	}
	if err := r.Sender.Send(ctx, msgs...); err != nil {
		return fmt.Errorf("relay: send statements: %w", err)
	}
	return nil
}

// Timer is the carrier of timer rows. One that cannot be read is dropped, so
// that it does not hold up the others: the sweeper does not need it.
func (r *Relay) Timer(ctx context.Context, rows []outbox.Row) error {
	msgs := make([]queue.Message, 0, len(rows))
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
		var t outbox.Timer
		if err := json.Unmarshal(row.Payload, &t); err != nil {
			continue
		}
		// A little late rather than early: an early hint finds nothing due.
		msgs = append(msgs, queue.Message{Topic: r.Topics.Timer, Key: row.ID, Body: row.Payload, DeliverAt: time.UnixMilli(t.At).Add(500 * time.Millisecond)})
	}
	if err := r.Sender.Send(ctx, msgs...); err != nil {
		return fmt.Errorf("relay: send timers: %w", err)
	}
	return r.Store.Delete(ctx, ids...)
}
