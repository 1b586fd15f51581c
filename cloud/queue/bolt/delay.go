package bolt

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/bbolt"
)

const (
	promoteMost = 512         // delayed messages moved in one transaction
	clockCheck  = time.Second // the wall clock may jump; while something is delayed it is read this often
)

// promote moves delayed messages to their topic as they come due. It sleeps
// until the next one is, and for ever when there is none.
func (q *Queue) promote() {
	for {
		due, next, err := q.delays()
		if err == nil && len(due) > 0 {
			err = q.write(context.Background(), &op{promote: due})
			if err == nil {
				continue
			}
		}
		if err != nil {
			if errors.Is(err, ErrClosed) {
				return
			}
			q.opt.Log.Error("queue: delayed messages could not be moved; trying again", "err", err)
			next = clockCheck
		}
		if !q.sleep(next) {
			return
		}
	}
}

// sleep waits for d (negative: without end) or news; false means closing.
func (q *Queue) sleep(d time.Duration) bool {
	var timer <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(min(d, clockCheck))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-timer:
	case <-q.kick:
	case <-q.halt:
		return false
	}
	return true
}

// delays lists the topics that have something due, and how long the next takes
// (negative: nothing is delayed).
func (q *Queue) delays() (due []string, next time.Duration, err error) {
	next = -1
	now := q.opt.Now()
	err = q.db.View(func(tx *bbolt.Tx) error {
		topics := tx.Bucket(bucketTopics)
		return topics.ForEachBucket(func(name []byte) error {
			k, _ := topics.Bucket(name).Bucket(bucketDelayed).Cursor().First()
			if k == nil {
				return nil
			}
			wait := time.UnixMilli(dueOf(k)).Sub(now)
			if wait <= 0 {
				due = append(due, string(name))
			} else if next < 0 || wait < next {
				next = wait
			}
			return nil
		})
	})
	return due, next, err
}

func (w writer) promote(name string) error {
	b, c, err := w.open(name)
	if err != nil {
		return err
	}
	msgs, delayed := b.Bucket(bucketMsgs), b.Bucket(bucketDelayed)
	cur := delayed.Cursor()
	for range promoteMost {
		k, v := cur.First()
		if k == nil || time.UnixMilli(dueOf(k)).After(w.now) {
			return nil
		}
		id, err := b.NextSequence()
		if err != nil {
			return err
		}
		if err := msgs.Put(idKey(id), append([]byte(nil), v...)); err != nil {
			return err
		}
		if err := delayed.Delete(k); err != nil {
			return err
		}
		c.added++
		c.last = id
	}
	return nil
}
