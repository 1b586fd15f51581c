package intake

import (
	"slices"
	"sync"
	"time"

	"vendline/shared/wire"
)

// acks gathers what is durable, so that one publish answers many facts of one
// cabinet. Each waits for company once, briefly.
type acks struct {
	wait time.Duration
	send func(cabinet string, a wire.Ack)

	mu      sync.Mutex
	waiting map[outbox][]int64
	timer   *time.Timer // runs while something waits
}

// outbox names one incarnation of a cabinet's outbox.
type outbox struct{ cabinet, epoch string }

func newAcks(wait time.Duration, send func(string, wire.Ack)) *acks {
	return &acks{wait: wait, send: send, waiting: map[outbox][]int64{}}
}

func (a *acks) add(cabinet, epoch string, seq int64) {
	key := outbox{cabinet, epoch}
	a.mu.Lock()
	seqs := append(a.waiting[key], seq)
	if len(seqs) < flushAt {
		a.waiting[key] = seqs
		if a.timer == nil {
			a.timer = time.AfterFunc(a.wait, a.flush)
		}
		a.mu.Unlock()
		return
	}
	delete(a.waiting, key)
	a.mu.Unlock()
	a.say(key, seqs)
}

// flush sends all that waits.
func (a *acks) flush() {
	a.mu.Lock()
	waiting := a.waiting
	a.waiting = map[outbox][]int64{}
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	a.mu.Unlock()
	for key, seqs := range waiting {
		a.say(key, seqs)
	}
}

func (a *acks) say(key outbox, seqs []int64) {
	slices.Sort(seqs)
	a.send(key.cabinet, wire.Ack{V: wire.Version, Cabinet: key.cabinet, Epoch: key.epoch, Seqs: slices.Compact(seqs)})
}
