package queuetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"vendline/cloud/queue"
)

func newGroup(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	msgs, keys := numbered(topic, "old", 50)
	send(t, q, msgs...)
	receive(t, q, topic, topic+"-g", box.handle)
	box.waitFor(t, keys)
}

func twoGroups(t *testing.T, target Target) {
	q, topic, a, b := target.Queue(t), target.Topic(t), newInbox(), newInbox()
	receive(t, q, topic, topic+"-a", a.handle)
	receive(t, q, topic, topic+"-b", b.handle)
	msgs, keys := numbered(topic, "m", 60)
	send(t, q, msgs...)
	a.waitFor(t, keys)
	b.waitFor(t, keys)
}

func twoMembers(t *testing.T, target Target) {
	one, two, topic := target.Queue(t), target.Queue(t), target.Topic(t)
	box := newInbox()
	var first, second atomic.Int64
	member := func(n *atomic.Int64) queue.Handler {
		return func(ctx context.Context, msgs []queue.Message) error {
			n.Add(int64(len(msgs)))
			return box.handle(ctx, msgs)
		}
	}
	leave := receive(t, one, topic, topic+"-g", member(&first))
	receive(t, two, topic, topic+"-g", member(&second))
	var keys []string
	round := func(name string) {
		msgs, k := numbered(topic, name, 40)
		send(t, one, msgs...)
		keys = append(keys, k...)
	}
	deadline := time.After(patience)
	for i := 0; first.Load() == 0 || second.Load() == 0; i++ {
		round(fmt.Sprintf("share%d", i))
		select {
		case <-deadline:
			t.Fatalf("one member did all the work: %d and %d messages", first.Load(), second.Load())
		case <-time.After(50 * time.Millisecond): // the pace of sending, nothing more
		}
	}
	round("leaving")
	leave()
	left := first.Load()
	round("left")
	box.waitFor(t, keys)
	if first.Load() != left {
		t.Error("the member that left still got messages")
	}
}

func stopWaits(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	entered, release := make(chan struct{}, 64), make(chan struct{})
	var under atomic.Int64
	var stopped atomic.Bool
	stop := receive(t, q, topic, topic+"-g", func(ctx context.Context, msgs []queue.Message) error {
		if stopped.Load() {
			t.Error("a handler began after stop had returned")
		}
		under.Add(1)
		defer under.Add(-1)
		entered <- struct{}{}
		<-release
		return box.handle(ctx, msgs)
	})
	msgs, keys := numbered(topic, "w", 8)
	send(t, q, msgs...)
	<-entered
	done := make(chan struct{})
	go func() { stop(); close(done) }()
	close(release)
	<-done
	stopped.Store(true)
	if n := under.Load(); n != 0 {
		t.Errorf("stop returned with %d handlers under way", n)
	}
	receive(t, q, topic, topic+"-g", box.handle)
	box.waitFor(t, keys)
}

func contextEnds(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	entered := make(chan struct{}, 64)
	stop, err := q.Receive(ctx, topic, topic+"-g", func(ctx context.Context, _ []queue.Message) error {
		entered <- struct{}{}
		<-ctx.Done() // a handler that waits for a server would be hurried
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	msgs, keys := numbered(topic, "c", 8)
	send(t, q, msgs...)
	<-entered
	cancel()
	stop()
	receive(t, q, topic, topic+"-g", box.handle)
	box.waitFor(t, keys)
}
