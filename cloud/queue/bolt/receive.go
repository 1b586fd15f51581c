package bolt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"vendline/cloud/queue"
)

// member is one Receive: a few workers that hand a group's messages to one handler.
type member struct {
	q       *Queue
	place   place
	readers *readers
	handle  queue.Handler
	leaving chan struct{}
	once    sync.Once
	workers sync.WaitGroup
}

// Receive implements queue.Receiver. The context that h gets ends with ctx, not
// with stop: stop lets handlers finish, the end of ctx hurries them.
func (q *Queue) Receive(ctx context.Context, topic, group string, h queue.Handler) (func(), error) {
	if topic == "" || group == "" {
		return nil, errors.New("queue/bolt: receive: topic and group must be named")
	}
	m := &member{q: q, place: place{topic, group}, handle: h, leaving: make(chan struct{})}
	if err := q.write(ctx, &op{join: &m.place}); err != nil {
		return nil, fmt.Errorf("queue/bolt: join group %s: %w", group, err)
	}
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil, ErrClosed
	}
	t := q.topics[topic]
	m.readers = t.groups[group]
	m.readers.extend(t.last)
	stop := func() {
		m.leave()
		m.workers.Wait()
		q.mu.Lock()
		delete(q.stops, m)
		q.mu.Unlock()
	}
	unhook := context.AfterFunc(ctx, stop)
	q.stops[m] = stop
	for range q.opt.Workers {
		m.workers.Go(func() { m.work(ctx) })
	}
	q.mu.Unlock()
	return func() { unhook(); stop() }, nil
}

func (m *member) leave() {
	m.once.Do(func() {
		close(m.leaving)
		m.readers.mu.Lock()
		//lint:ignore SA2001 once we held it, nobody is between asking gone and waiting
		m.readers.mu.Unlock()
		m.readers.wake.Broadcast()
	})
}

func (m *member) gone() bool {
	select {
	case <-m.leaving:
		return true
	default:
		return false
	}
}

func (m *member) work(ctx context.Context) {
	for {
		ids, err := m.readers.claim(m.q.opt.Batch, m.gone, m.read)
		if err == nil && ids == nil {
			return
		}
		if err == nil {
			err = m.deliver(ctx, ids)
		}
		if err != nil {
			m.q.opt.Log.Error("queue: delivery failed; the messages come again", "topic", m.place.topic, "group", m.place.group, "err", err)
			select {
			case <-time.After(m.q.opt.RetryMin):
			case <-m.leaving:
			}
		}
	}
}

// deliver hands messages over and acknowledges them. Its error is the queue's
// own; the handler's goes to whoever sent the messages, as their coming back.
func (m *member) deliver(ctx context.Context, ids []uint64) error {
	msgs, present, err := m.load(ids)
	if err != nil {
		m.readers.failed(ids)
		return err
	}
	if len(present) == 0 {
		return nil
	}
	if len(msgs) > 0 {
		m.readers.number(msgs, present)
		if err := m.safely(ctx, msgs); err != nil {
			m.q.opt.Log.Warn("queue: handler refused messages; they come again", "topic", m.place.topic, "group", m.place.group, "messages", len(msgs), "attempt", msgs[0].Attempt, "err", err)
			m.readers.failed(present)
			return nil
		}
	}
	if err := m.q.write(context.Background(), &op{ack: &ack{m.place, present}}); err != nil {
		m.readers.failed(present)
		return fmt.Errorf("acknowledge: %w", err)
	}
	m.readers.done(present)
	return nil
}

func (m *member) safely(ctx context.Context, msgs []queue.Message) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("handler panicked: %v", r)
		}
	}()
	return m.handle(ctx, msgs)
}

// read lists the next ids that the group has not acknowledged. next lies past
// the newest message when fewer than a batch are left.
func (m *member) read(from uint64) (ids []uint64, next uint64, err error) {
	next = from
	err = m.q.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketTopics).Bucket([]byte(m.place.topic))
		acked := b.Bucket(bucketGroups).Bucket([]byte(m.place.group))
		c := b.Bucket(bucketMsgs).Cursor()
		for k, _ := c.Seek(idKey(from)); k != nil && len(ids) < m.q.opt.Batch; k, _ = c.Next() {
			next = keyID(k) + 1
			if acked.Get(k) == nil {
				ids = append(ids, keyID(k))
			}
		}
		if len(ids) < m.q.opt.Batch {
			next = max(next, b.Sequence()+1)
		}
		return nil
	})
	return ids, next, err
}

// load reads the messages. One that is gone was acknowledged; one that cannot
// be read is left out of msgs and acknowledged with the others, loudly: its
// sender still has it.
func (m *member) load(ids []uint64) (msgs []queue.Message, present []uint64, err error) {
	var unreadable []uint64
	err = m.q.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketTopics).Bucket([]byte(m.place.topic)).Bucket(bucketMsgs)
		for _, id := range ids {
			v := b.Get(idKey(id))
			if v == nil {
				continue
			}
			msg, err := decode(m.place.topic, v)
			if err != nil {
				unreadable = append(unreadable, id)
				continue
			}
			msgs, present = append(msgs, msg), append(present, id)
		}
		return nil
	})
	if len(unreadable) > 0 {
		m.q.opt.Log.Error("queue: stored messages cannot be read and are dropped", "topic", m.place.topic, "ids", unreadable)
	}
	return msgs, append(present, unreadable...), err
}
