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

// Timer is the carrier of timer rows. Rows whose holds end about together share
// a message. One that cannot be read is dropped, so that it does not hold up the
// others: the sweeper does not need it.
func (r *Relay) Timer(ctx context.Context, rows []outbox.Row) error {
	var hints []outbox.Timer
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
		var t outbox.Timer
		if err := json.Unmarshal(row.Payload, &t); err == nil {
			hints = join(hints, t)
		}
	}
	msgs := make([]queue.Message, len(hints))
	for i, h := range hints {
		body, err := json.Marshal(h)
		if err != nil {
			return fmt.Errorf("relay: encode a timer: %w", err)
		}
		// A little late rather than early: an early hint finds nothing due.
		msgs[i] = queue.Message{Topic: r.Topics.Timer, Key: ids[0], Body: body, DeliverAt: time.UnixMilli(h.At).Add(500 * time.Millisecond)}
	}
	if err := r.Sender.Send(ctx, msgs...); err != nil {
		return fmt.Errorf("relay: send timers: %w", err)
	}
	return r.Store.Delete(ctx, ids...)
}

// Bounds of a joint hint: the broker's timer wheel turns once a second, and ids
// of 39 bytes must stay far below queue.MaxBody.
const (
	hintSpread = 1000 // ms
	hintIDs    = 10_000
)

// join adds t to the last hint when their times and number allow.
func join(hints []outbox.Timer, t outbox.Timer) []outbox.Timer {
	if n := len(hints) - 1; n >= 0 {
		last := &hints[n]
		if d := t.At - last.At; d > -hintSpread && d < hintSpread && len(last.IDs)+len(t.IDs) <= hintIDs {
			last.At, last.IDs = max(last.At, t.At), append(last.IDs, t.IDs...)
			return hints
		}
	}
	return append(hints, t)
}
