package bolt

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"vendline/cloud/queue"
)

// op is one caller's share of a write transaction; one of the parts is set.
type op struct {
	send    []queue.Message
	join    *place   // make a group known
	ack     *ack     // acknowledge for a group
	promote []string // topics whose delayed messages may be due
}

type place struct{ topic, group string }

type ack struct {
	place
	ids []uint64
}

// change is what a transaction did, told to memory once it has committed.
type change struct {
	added, removed int64
	last           uint64
	acked          map[string]int64 // by group: markers added less markers removed
	delayed        bool
}

// commit carries out the ops of many callers in one transaction. Nothing in an
// op can fail alone: what it holds was checked before, so an error is the
// disk's and everybody's.
func (q *Queue) commit(_ context.Context, ops []*op) []error {
	changes := map[string]*change{}
	err := q.db.Update(func(tx *bbolt.Tx) error {
		clear(changes)
		w := writer{topics: tx.Bucket(bucketTopics), now: q.opt.Now(), changes: changes}
		for _, o := range ops {
			if err := w.apply(o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		errs := make([]error, len(ops))
		for i := range errs {
			errs[i] = fmt.Errorf("commit: %w", err)
		}
		return errs
	}
	q.tell(changes)
	return nil
}

// tell brings memory up to date and wakes who waits.
func (q *Queue) tell(changes map[string]*change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, c := range changes {
		t := q.topic(name)
		t.count += c.added - c.removed
		t.last = max(t.last, c.last)
		for g, n := range c.acked {
			if t.groups[g] == nil {
				t.groups[g] = newReaders(q.opt)
			}
			t.groups[g].acked += n
		}
		if c.added > 0 {
			for _, g := range t.groups {
				g.extend(t.last)
			}
		}
		if c.delayed {
			select {
			case q.kick <- struct{}{}:
			default:
			}
		}
	}
}

type writer struct {
	topics  *bbolt.Bucket
	now     time.Time
	changes map[string]*change
}

func (w writer) apply(o *op) error {
	for _, m := range o.send {
		if err := w.append(m); err != nil {
			return err
		}
	}
	for _, name := range o.promote {
		if err := w.promote(name); err != nil {
			return err
		}
	}
	if o.join != nil {
		_, c, err := w.open(o.join.topic)
		if err != nil {
			return err
		}
		c.acked[o.join.group] += 0
		_, err = w.topics.Bucket([]byte(o.join.topic)).Bucket(bucketGroups).CreateBucketIfNotExists([]byte(o.join.group))
		return err
	}
	if o.ack != nil {
		return w.ack(*o.ack)
	}
	return nil
}

func (w writer) open(name string) (*bbolt.Bucket, *change, error) {
	b := w.topics.Bucket([]byte(name))
	if b == nil {
		var err error
		if b, err = w.topics.CreateBucket([]byte(name)); err != nil {
			return nil, nil, err
		}
		for _, part := range [][]byte{bucketMsgs, bucketDelayed, bucketGroups} {
			if _, err := b.CreateBucket(part); err != nil {
				return nil, nil, err
			}
		}
	}
	c, ok := w.changes[name]
	if !ok {
		c = &change{acked: map[string]int64{}}
		w.changes[name] = c
	}
	return b, c, nil
}

func (w writer) append(m queue.Message) error {
	b, c, err := w.open(m.Topic)
	if err != nil {
		return err
	}
	id, err := b.NextSequence()
	if err != nil {
		return err
	}
	if m.DeliverAt.After(w.now) {
		c.delayed = true
		due := m.DeliverAt.Add(time.Millisecond - 1).UnixMilli() // rounded up: never early
		return b.Bucket(bucketDelayed).Put(dueKey(due, id), encode(m))
	}
	c.added++
	c.last = id
	return b.Bucket(bucketMsgs).Put(idKey(id), encode(m))
}
