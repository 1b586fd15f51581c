package pathtest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"vendline/cloud/queue"
)

// carrier is a queue that may lose, double and reorder.
type carrier struct {
	mu   sync.Mutex
	msgs []queue.Message
	lose func() bool // drops a message that it has accepted; nil never does
}

func (c *carrier) Send(_ context.Context, msgs ...queue.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range msgs {
		if c.lose == nil || !c.lose() {
			c.msgs = append(c.msgs, m)
		}
	}
	return nil
}

// take returns up to n messages of a topic that are due, without removing them.
// With rng they come in any order, and some of them twice.
func (c *carrier) take(topic string, now time.Time, n int, rng *rand.Rand) (due []queue.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.msgs {
		if m.Topic == topic && !m.DeliverAt.After(now) {
			due = append(due, m)
		}
	}
	if rng != nil {
		rng.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
		if len(due) > 0 {
			due = append(due[:min(n, len(due)):min(n, len(due))], due[0])
		}
	}
	return due[:min(len(due), n+1)]
}

// ack forgets one copy of each message.
func (c *carrier) ack(msgs []queue.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range msgs {
		if i := slices.IndexFunc(c.msgs, func(x queue.Message) bool { return x.Topic == m.Topic && x.Key == m.Key }); i >= 0 {
			c.msgs = slices.Delete(c.msgs, i, i+1)
		}
	}
}

func (c *carrier) depth() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.msgs)
}
