package queuetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"vendline/cloud/queue"
)

// settles waits until the depth is as wanted.
func settles(t *testing.T, q Queue, topic, group, what string, ok func(int64) bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		n, err := q.Depth(t.Context(), topic, group)
		if err == nil && ok(n) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("depth is %d (%v), want %s", n, err, what)
		}
		time.Sleep(20 * time.Millisecond) // between two looks
	}
}

func depth(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	group := topic + "-g"
	release := make(chan struct{})
	receive(t, q, topic, group, func(ctx context.Context, msgs []queue.Message) error {
		<-release
		return box.handle(ctx, msgs)
	})
	msgs, keys := numbered(topic, "d", 20)
	send(t, q, msgs...)
	settles(t, q, topic, group, "20", func(n int64) bool { return n == 20 })
	close(release)
	box.waitFor(t, keys)
	settles(t, q, topic, group, "0", func(n int64) bool { return n == 0 })
}

func depthUnknown(t *testing.T, target Target) {
	q := target.Unreachable(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if n, err := q.Depth(ctx, "unreachable", "unreachable-g"); err == nil {
		t.Errorf("depth of a queue that is away is %d, want an error", n)
	}
}

func sendUnreachable(t *testing.T, target Target) {
	q := target.Unreachable(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := q.Send(ctx, queue.Message{Topic: "unreachable", Key: "k", Body: []byte("x")}); err == nil {
		t.Error("a queue that is away accepted a message")
	}
}

func restart(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	group := topic + "-g"
	receive(t, q, topic, group, box.handle)

	var mu sync.Mutex
	current, accepted := q, []string(nil)
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(accepted) }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var senders sync.WaitGroup
	for s := range 4 {
		senders.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf("r%d-%d", s, i)
				mu.Lock()
				q := current
				mu.Unlock()
				try, done := context.WithTimeout(ctx, 5*time.Second)
				err := q.Send(try, queue.Message{Topic: topic, Key: key, Shard: i, Body: []byte(key)})
				done()
				if err != nil { // away: allowed, but then it may be missing
					time.Sleep(20 * time.Millisecond)
					continue
				}
				mu.Lock()
				accepted = append(accepted, key)
				mu.Unlock()
			}
		})
	}
	reach := func(n int) {
		deadline := time.Now().Add(patience)
		for count() < n {
			if time.Now().After(deadline) {
				t.Fatalf("only %d of %d messages were accepted", count(), n)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	reach(200)
	next := target.Restart(t, q)
	if next != q {
		receive(t, next, topic, group, box.handle)
		mu.Lock()
		current = next
		mu.Unlock()
	}
	reach(count() + 200)
	cancel()
	senders.Wait()
	box.waitFor(t, accepted)
}

func restartWaiting(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	msgs, keys := numbered(topic, "waiting", 100)
	late := queue.Message{Topic: topic, Key: "late", Body: []byte("late"), DeliverAt: time.Now().Add(4 * time.Second)}
	send(t, q, append(msgs, late)...)
	q = target.Restart(t, q)
	receive(t, q, topic, topic+"-g", box.handle)
	box.waitFor(t, append(keys, "late"))
	if box.at["late"].Before(late.DeliverAt) {
		t.Error("the delayed message came early")
	}
}
