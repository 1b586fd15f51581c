package queuetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"vendline/cloud/queue"
)

// patience bounds every wait of the suite; it is never what a test measures.
const patience = 2 * time.Minute

// inbox is a handler that remembers what it acknowledged.
type inbox struct {
	mu      sync.Mutex
	got     map[string]int // by key
	first   map[string]queue.Message
	at      map[string]time.Time
	largest int
	changed chan struct{}
}

func newInbox() *inbox {
	return &inbox{got: map[string]int{}, first: map[string]queue.Message{}, at: map[string]time.Time{}, changed: make(chan struct{})}
}

func (b *inbox) handle(_ context.Context, msgs []queue.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.largest = max(b.largest, len(msgs))
	for _, m := range msgs {
		if b.got[m.Key]++; b.got[m.Key] == 1 {
			b.first[m.Key] = m
			b.at[m.Key] = time.Now()
		}
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return nil
}

// wait blocks until ok, which sees the inbox locked.
func (b *inbox) wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		b.mu.Lock()
		done, changed, n := ok(), b.changed, len(b.got)
		b.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			t.Fatalf("still waiting for %s; %d distinct messages came", what, n)
		}
	}
}

// waitFor blocks until every key has come.
func (b *inbox) waitFor(t *testing.T, keys []string) {
	t.Helper()
	b.wait(t, fmt.Sprintf("%d messages", len(keys)), func() bool {
		for _, k := range keys {
			if b.got[k] == 0 {
				return false
			}
		}
		return true
	})
}

// receive begins deliveries that end with the test.
func receive(t *testing.T, q Queue, topic, group string, h queue.Handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	end, err := q.Receive(ctx, topic, group, h)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(end)
	t.Cleanup(stop)
	return stop
}

// send hands msgs over and fails the test on an error.
func send(t *testing.T, q Queue, msgs ...queue.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := q.Send(ctx, msgs...); err != nil {
		t.Fatal(err)
	}
}

// numbered makes n messages over all shards, and returns their keys.
func numbered(topic, prefix string, n int) (msgs []queue.Message, keys []string) {
	for i := range n {
		key := fmt.Sprintf("%s-%d", prefix, i)
		msgs = append(msgs, queue.Message{Topic: topic, Key: key, Shard: i, Body: []byte("body of " + key)})
		keys = append(keys, key)
	}
	return msgs, keys
}

// refusing lets h have messages only from the second time that each is seen.
func refusing(h queue.Handler, refuse func() error) queue.Handler {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(ctx context.Context, msgs []queue.Message) error {
		mu.Lock()
		fresh := false
		for _, m := range msgs {
			fresh = fresh || !seen[m.Key]
			seen[m.Key] = true
		}
		mu.Unlock()
		if fresh {
			return refuse()
		}
		return h(ctx, msgs)
	}
}
