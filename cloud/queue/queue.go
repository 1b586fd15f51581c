// Package queue, step 7 of 8: what carries statements from the outbox to the
// batching consumer. It owns nothing: every statement stays in MySQL until step
// 8 has applied it, so a queue that loses a message costs time, not stock.
//
// The types here are the contract; adapters live in folders below (rocket for
// RocketMQ, bolt for the embedded one) and pass the suite in queuetest.
package queue

import (
	"context"
	"time"
)

// Message is one unit a queue carries.
type Message struct {
	Topic     string
	Key       string    // for people who search the broker: the outbox row's id
	Shard     int       // messages of one shard go to one queue of the topic
	Body      []byte    // opaque; at most MaxBody bytes
	DeliverAt time.Time // not before this; zero is at once
	Attempt   int       // set on receipt: 1, 2, 3 … deliveries so far, where the queue knows
	Origin    string    // set on receipt of what the queue gave up: the topic it was of
}

// MaxBody is the largest body, in bytes, that every adapter takes.
const MaxBody = 1 << 20

// Sender hands messages to the queue.
type Sender interface {
	// Send returns nil only when every message is accepted (for RocketMQ:
	// SendOK, not FlushDiskTimeout and its kin). On error any of them may have
	// been accepted. Safe for concurrent use.
	Send(ctx context.Context, msgs ...Message) error
}

// Handler works off messages that arrived together. nil acknowledges all of
// them; an error (or a panic) brings all of them back later. It may be called
// concurrently and must expect duplicates and any order.
type Handler func(ctx context.Context, msgs []Message) error

// Receiver delivers a topic's messages, at least once, to one member of a group.
type Receiver interface {
	// Receive returns once deliveries to h have begun. They go on until ctx
	// ends or the returned stop is called; stop waits for handlers under way.
	// A group that is new starts at the topic's oldest message. h's context ends
	// with ctx, not with stop: stop lets handlers finish, the end of ctx hurries
	// them, and what they then refuse goes to other members.
	Receive(ctx context.Context, topic, group string, h Handler) (stop func(), err error)
}

// Depther counts what waits.
type Depther interface {
	// Depth is the number of messages of topic that group has not acknowledged.
	// Those that wait for their time, delayed or to be tried again after a
	// refusal, may not count until they are due.
	// An error means unknown, which is never to be shown as 0.
	Depth(ctx context.Context, topic, group string) (int64, error)
}
