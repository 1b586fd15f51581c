package rocket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"golang.org/x/sync/errgroup"

	"vendline/cloud/queue"
)

// Properties of ours on a message.
const (
	propShard   = "vendShard"
	propAttempt = "vendAttempt" // deliveries that failed before this message was sent again
	propDue     = "vendDue"     // Unix ms
)

// Bounds of one request.
const (
	maxRequest  = 1 << 20 // bytes of bodies in a batch
	maxPerBatch = 256     // messages in a batch
	perMessage  = 200     // bytes of properties and framing, roughly
	parallel    = 8       // requests of one Send under way at once
)

// Send implements queue.Sender. Messages of one shard travel in batches, the
// shards side by side; a delayed message cannot be in a batch and goes alone.
func (q *Queue) Send(ctx context.Context, msgs ...queue.Message) error {
	for _, m := range msgs {
		switch {
		case m.Topic == "":
			return errors.New("queue/rocket: send: message has no topic")
		case len(m.Body) > queue.MaxBody:
			return fmt.Errorf("queue/rocket: send: body of %d bytes, at most %d", len(m.Body), queue.MaxBody)
		}
	}
	if q.isClosed() {
		return ErrClosed
	}
	requests := q.requests(msgs)
	if len(requests) == 1 {
		return q.sendOne(ctx, requests[0])
	}
	var all errgroup.Group
	all.SetLimit(parallel)
	for _, r := range requests {
		all.Go(func() error { return q.sendOne(ctx, r) })
	}
	return all.Wait()
}

// requests cuts messages into what one request can carry.
func (q *Queue) requests(msgs []queue.Message) [][]*primitive.Message {
	type lane struct {
		topic string
		shard int
	}
	var done [][]*primitive.Message
	open := map[lane][]*primitive.Message{}
	size := map[lane]int{}
	now := time.Now()
	for _, m := range msgs {
		p := q.encode(m)
		if m.DeliverAt.After(now) {
			delay(p, m.DeliverAt)
			done = append(done, []*primitive.Message{p})
			continue
		}
		l, n := lane{m.Topic, p.Queue.QueueId}, len(m.Body)+len(m.Key)+perMessage
		if len(open[l]) > 0 && (size[l]+n > maxRequest || len(open[l]) == maxPerBatch) {
			done = append(done, open[l])
			open[l], size[l] = nil, 0
		}
		open[l], size[l] = append(open[l], p), size[l]+n
	}
	for _, batch := range open {
		done = append(done, batch)
	}
	return done
}

func (q *Queue) encode(m queue.Message) *primitive.Message {
	p := primitive.NewMessage(m.Topic, m.Body)
	if m.Key != "" {
		p.WithKeys([]string{m.Key})
	}
	p.WithProperty(propShard, strconv.Itoa(m.Shard))
	if m.Origin != "" {
		p.WithProperty(propOrigin, m.Origin)
	}
	shard := m.Shard % q.opt.Queues
	if shard < 0 {
		shard += q.opt.Queues
	}
	p.Queue = &primitive.MessageQueue{Topic: m.Topic, QueueId: shard} // for byShard; a batch inherits its first message's
	return p
}

// delay asks the broker's timer for a second that is not before at.
func delay(p *primitive.Message, at time.Time) {
	p.WithProperty(propDue, strconv.FormatInt(at.Add(time.Millisecond-1).UnixMilli(), 10))
	p.WithDelayTimestamp(at.Add(time.Millisecond - 1))
}

// sendOne returns when the broker said SendOK, or with an error when it said
// anything else or ctx ended. The library itself looks at ctx only in parts.
func (q *Queue) sendOne(ctx context.Context, batch []*primitive.Message) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("queue/rocket: send: %w", err)
	}
	answer := make(chan error, 1)
	go func() {
		result, err := q.producer.SendSync(ctx, batch...)
		answer <- cmp.Or(err, verdict(result))
	}()
	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("queue/rocket: send %d to %s: %w", len(batch), batch[0].Topic, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("queue/rocket: send %d to %s: %w", len(batch), batch[0].Topic, ctx.Err())
	}
}

// verdict is nil for SendOK alone: FlushDiskTimeout, FlushSlaveTimeout and
// SlaveNotAvailable come without an error and promise less.
func verdict(r *primitive.SendResult) error {
	switch {
	case r == nil:
		return errors.New("no result")
	case r.Status != primitive.SendOK:
		return fmt.Errorf("status %d is not SendOK", r.Status)
	}
	return nil
}

// byShard sends each shard to one queue of its topic.
type byShard struct{}

// Select implements producer.QueueSelector.
func (byShard) Select(m *primitive.Message, queues []*primitive.MessageQueue, _ string) *primitive.MessageQueue {
	sorted := slices.SortedFunc(slices.Values(queues), func(a, b *primitive.MessageQueue) int {
		return cmp.Or(cmp.Compare(a.BrokerName, b.BrokerName), cmp.Compare(a.QueueId, b.QueueId))
	})
	shard := 0
	if m.Queue != nil {
		shard = m.Queue.QueueId
	}
	return sorted[shard%len(sorted)]
}
