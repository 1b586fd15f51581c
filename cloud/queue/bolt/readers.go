package bolt

import (
	"sync"
	"time"

	"vendline/cloud/queue"
)

// readers is what the members of one group share: how far the group has read,
// and what came back. What is handed out is known in memory alone; after a
// crash everything unacknowledged is handed out again.
type readers struct {
	acked int64 // markers in the file; guarded by Queue.mu

	mu       sync.Mutex
	wake     *sync.Cond
	next     uint64         // ids from here on were not handed out yet
	last     uint64         // newest id there is
	again    []uint64       // came back and may be handed out now
	failures map[uint64]int // by id, while a message keeps failing
	retryMin time.Duration
	retryMax time.Duration
}

func newReaders(opt Options) *readers {
	r := &readers{next: 1, failures: map[uint64]int{}, retryMin: opt.RetryMin, retryMax: opt.RetryMax}
	r.wake = sync.NewCond(&r.mu)
	return r
}

// extend tells that messages up to last are there.
func (r *readers) extend(last uint64) {
	r.mu.Lock()
	r.last = max(r.last, last)
	r.mu.Unlock()
	r.wake.Broadcast()
}

// claim waits until there is something to hand out, and returns nothing once
// gone reports true. What came back goes first, in ever smaller batches the
// more often it failed, down to one: so a poison message ends up alone, and
// those that only shared its batch get through. read lists ids not handed out
// yet, and where to go on.
func (r *readers) claim(most int, gone func() bool, read func(from uint64) (ids []uint64, next uint64, err error)) ([]uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if gone() {
			return nil, nil
		}
		if len(r.again) > 0 {
			n := min(max(1, most>>r.failures[r.again[0]]), len(r.again))
			ids := append([]uint64(nil), r.again[:n]...)
			r.again = append(r.again[:0], r.again[n:]...)
			return ids, nil
		}
		if r.next <= r.last {
			ids, next, err := read(r.next)
			if err != nil {
				return nil, err
			}
			r.next = next
			if len(ids) > 0 {
				return ids, nil
			}
			continue
		}
		r.wake.Wait()
	}
}

// done forgets ids that were acknowledged.
func (r *readers) done(ids []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		delete(r.failures, id)
	}
}

// failed brings ids back, later each time.
func (r *readers) failed(ids []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pauses := map[time.Duration][]uint64{}
	for _, id := range ids {
		r.failures[id]++
		pause := r.retryMax
		if n := r.failures[id] - 1; n < 20 {
			pause = min(r.retryMin<<n, r.retryMax)
		}
		pauses[pause] = append(pauses[pause], id)
	}
	for pause, ids := range pauses {
		time.AfterFunc(pause, func() { r.putBack(ids) })
	}
}

// putBack makes ids available at once.
func (r *readers) putBack(ids []uint64) {
	r.mu.Lock()
	r.again = append(r.again, ids...)
	r.mu.Unlock()
	r.wake.Broadcast()
}

// number fills in how often each message was handed out, this time included.
// It must not be called inside a transaction: claim reads under r.mu.
func (r *readers) number(msgs []queue.Message, ids []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range msgs {
		msgs[i].Attempt = r.failures[ids[i]] + 1
	}
}
