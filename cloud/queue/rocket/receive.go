package rocket

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"vendline/cloud/queue"
)

// pullBatch is how many messages one pull brings at most, for each queue.
const pullBatch = 128

// receiver is one member of a group.
type receiver struct {
	q            *Queue
	topic, group string
	handle       queue.Handler
	ctx          context.Context
	consumer     pushConsumer

	mu      sync.Mutex
	leaving bool
	under   sync.WaitGroup // handlers under way
	gone    chan struct{}  // closed once the library's consumer is shut down
	once    sync.Once
}

// pushConsumer is the part of the library's consumer used here.
type pushConsumer interface {
	Subscribe(topic string, s consumer.MessageSelector, f func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)) error
	Start() error
	Suspend()
	Shutdown() error
	PersistConsumerOffset() error
}

// Receive implements queue.Receiver. The context that h gets ends with ctx, not
// with stop: stop lets handlers finish, the end of ctx hurries them.
func (q *Queue) Receive(ctx context.Context, topic, group string, h queue.Handler) (func(), error) {
	if topic == "" || group == "" {
		return nil, errors.New("queue/rocket: receive: topic and group must be named")
	}
	if err := q.ensure(ctx, topic, q.opt.Queues); err != nil {
		return nil, err
	}
	if err := q.ensure(ctx, retryTopic(group), 1); err != nil { // else what comes back waits for a rebalance
		return nil, err
	}
	r := &receiver{q: q, topic: topic, group: group, handle: h, ctx: ctx, gone: make(chan struct{})}
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := r.start()
		if err == nil {
			break
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("queue/rocket: receive %s: %w (last: %w)", topic, ctx.Err(), err)
		}
	}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		r.stop()
		return nil, ErrClosed
	}
	q.receivers[r] = true
	q.mu.Unlock()
	unhook := context.AfterFunc(ctx, r.stop)
	return func() { unhook(); r.stop() }, nil
}

func (r *receiver) start() error {
	c, err := consumer.NewPushConsumer(
		consumer.WithNameServer(r.q.servers),
		consumer.WithGroupName(r.group),
		consumer.WithInstance(r.q.name()),
		consumer.WithConsumerModel(consumer.Clustering),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeMessageBatchMaxSize(r.q.opt.Batch),
		consumer.WithPullBatchSize(pullBatch),
		consumer.WithConsumeGoroutineNums(r.q.opt.Workers),
		consumer.WithMaxReconsumeTimes(math.MaxInt32), // whoever handles messages decides when to give up
	)
	if err != nil {
		return err
	}
	if err := c.Subscribe(r.topic, consumer.MessageSelector{}, r.consume); err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return errors.Join(err, c.Shutdown())
	}
	r.consumer = c
	return nil
}

// stop leaves the group: no more pulls, handlers finish, their offsets are
// stored, then the connection goes.
func (r *receiver) stop() {
	r.once.Do(func() {
		r.mu.Lock()
		r.leaving = true
		r.mu.Unlock()
		r.consumer.Suspend()
		r.under.Wait()
		// A pull that was under way may just bring messages, and the library
		// must not be closed between seeing and keeping them.
		time.Sleep(100 * time.Millisecond)
		if err := errors.Join(r.consumer.PersistConsumerOffset(), r.consumer.Shutdown()); err != nil {
			r.q.opt.Log.Warn("queue: leaving a group", "topic", r.topic, "group", r.group, "err", err)
		}
		close(r.gone)
		r.q.mu.Lock()
		delete(r.q.receivers, r)
		r.q.mu.Unlock()
	})
	<-r.gone
}

// persist stores the offsets of this process's members of a group, which the
// library otherwise does every 5 s.
func (q *Queue) persist(topic, group string) {
	q.mu.Lock()
	var members []*receiver
	for r := range q.receivers {
		if r.topic == topic && r.group == group {
			members = append(members, r)
		}
	}
	q.mu.Unlock()
	for _, r := range members {
		_ = r.consumer.PersistConsumerOffset() // then the count is a few seconds old
	}
}
