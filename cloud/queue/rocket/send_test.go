package rocket

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"vendline/cloud/queue"
)

// fakeSender answers each request as told, and remembers it.
type fakeSender struct {
	answer func() (*primitive.SendResult, error)
	mu     sync.Mutex
	sent   [][]*primitive.Message
}

func (f *fakeSender) SendSync(_ context.Context, msgs ...*primitive.Message) (*primitive.SendResult, error) {
	f.mu.Lock()
	f.sent = append(f.sent, msgs)
	f.mu.Unlock()
	return f.answer()
}

func (f *fakeSender) Shutdown() error { return nil }

func withSender(answer func() (*primitive.SendResult, error)) (*Queue, *fakeSender) {
	f := &fakeSender{answer: answer}
	return &Queue{opt: Options{}.filled(), producer: f, receivers: map[*receiver]bool{}}, f
}

func sendOK() (*primitive.SendResult, error) {
	return &primitive.SendResult{Status: primitive.SendOK}, nil
}

// The library returns nil errors with statuses that promise less than SendOK.
func TestOnlySendOKIsSent(t *testing.T) {
	for _, status := range []primitive.SendStatus{primitive.SendFlushDiskTimeout, primitive.SendFlushSlaveTimeout, primitive.SendSlaveNotAvailable, primitive.SendUnknownError} {
		q, _ := withSender(func() (*primitive.SendResult, error) { return &primitive.SendResult{Status: status}, nil })
		if err := q.Send(t.Context(), queue.Message{Topic: "t", Body: []byte("x")}); err == nil {
			t.Errorf("status %d passed for sent", status)
		}
	}
	q, _ := withSender(func() (*primitive.SendResult, error) { return nil, nil })
	if err := q.Send(t.Context(), queue.Message{Topic: "t", Body: []byte("x")}); err == nil {
		t.Error("no result passed for sent")
	}
	q, _ = withSender(sendOK)
	if err := q.Send(t.Context(), queue.Message{Topic: "t", Body: []byte("x")}); err != nil {
		t.Error(err)
	}
}

// One failed request fails the whole Send.
func TestOneFailureOfManyIsAFailure(t *testing.T) {
	var mu sync.Mutex
	n := 0
	q, _ := withSender(func() (*primitive.SendResult, error) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n == 3 {
			return nil, errors.New("connection lost")
		}
		return sendOK()
	})
	var msgs []queue.Message
	for i := range 4 {
		msgs = append(msgs, queue.Message{Topic: "t", Shard: i, Body: []byte("x")})
	}
	if err := q.Send(t.Context(), msgs...); err == nil {
		t.Error("a lost request went unnoticed")
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	q, _ := withSender(func() (*primitive.SendResult, error) { <-never; return sendOK() })
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if err := q.Send(ctx, queue.Message{Topic: "t", Body: []byte("x")}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A batch is of one topic and shard, within the bounds of a request, and
// without delayed messages, which RocketMQ would deliver at once.
func TestRequestsAreWhatABatchMayBe(t *testing.T) {
	q, f := withSender(sendOK)
	var msgs []queue.Message
	later := time.Now().Add(time.Hour)
	for i := range 700 {
		m := queue.Message{Topic: fmt.Sprint("t", i%2), Key: fmt.Sprint(i), Shard: i % 9, Body: make([]byte, 1+i*37%30_000)}
		if i%50 == 0 {
			m.DeliverAt = later
		}
		msgs = append(msgs, m)
	}
	msgs = append(msgs, queue.Message{Topic: "t0", Key: "large", Body: make([]byte, queue.MaxBody)})
	if err := q.Send(t.Context(), msgs...); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, batch := range f.sent {
		size := 0
		for _, m := range batch {
			size += len(m.Body)
			seen[m.GetKeys()] = true
			if m.Topic != batch[0].Topic || m.Queue.QueueId != batch[0].Queue.QueueId {
				t.Errorf("%s/%d travels with %s/%d", m.Topic, m.Queue.QueueId, batch[0].Topic, batch[0].Queue.QueueId)
			}
			if m.GetProperty(primitive.PropertyTimerDeliverMS) != "" && len(batch) > 1 {
				t.Error("a delayed message is in a batch")
			}
		}
		if len(batch) > maxPerBatch || size > maxRequest && len(batch) > 1 {
			t.Errorf("a batch of %d messages, %d bytes", len(batch), size)
		}
	}
	if len(seen) != len(msgs) {
		t.Errorf("%d of %d messages were sent", len(seen), len(msgs))
	}
}

// A shard has one queue, however the route lists the queues, also below zero.
func TestShardHasOneQueue(t *testing.T) {
	q, _ := withSender(sendOK)
	queues := []*primitive.MessageQueue{{BrokerName: "b", QueueId: 1}, {BrokerName: "a", QueueId: 1}, {BrokerName: "b", QueueId: 0}, {BrokerName: "a", QueueId: 0}}
	turned := []*primitive.MessageQueue{queues[2], queues[3], queues[0], queues[1]}
	used := map[string]bool{}
	for shard := -9; shard < 9; shard++ {
		m := q.encode(queue.Message{Topic: "t", Shard: shard})
		one, two := byShard{}.Select(m, queues, ""), byShard{}.Select(m, turned, "")
		if *one != *two {
			t.Errorf("shard %d has queues %v and %v", shard, one, two)
		}
		used[one.BrokerName+fmt.Sprint(one.QueueId)] = true
	}
	if len(used) != 4 {
		t.Errorf("%d of 4 queues are used", len(used))
	}
}

func TestClientNamesAreUnique(t *testing.T) {
	q, _ := withSender(sendOK)
	p, _ := withSender(sendOK)
	seen := map[string]bool{}
	for range 100 {
		for _, name := range []string{q.name(), p.name()} {
			if seen[name] || strings.HasPrefix(name, "-") {
				t.Errorf("name %s", name)
			}
			seen[name] = true
		}
	}
}
