package simulation

import (
	"slices"
	"time"

	"vendline/cloud/queue"
)

// queueing is RocketMQ: it may lose, double and reorder.
type queueing struct {
	w    *world
	msgs []queue.Message
}

// send takes messages; some it loses.
func (q *queueing) send(msgs ...queue.Message) {
	for _, m := range msgs {
		if !q.w.fire(QueueLost, 12) {
			q.msgs = append(q.msgs, m)
		}
	}
}

// take returns up to n messages of a topic that are due, without removing them.
func (q *queueing) take(topic string, now time.Time, n int) (due []queue.Message) {
	for _, m := range q.msgs {
		if m.Topic == topic && !m.DeliverAt.After(now) {
			due = append(due, m)
		}
	}
	if len(due) > 1 && q.w.fire(QueueLate, 2) {
		q.w.rng.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	}
	due = due[:min(n, len(due))]
	if len(due) > 0 && q.w.fire(QueueTwice, 4) {
		due = append(due, due[0])
	}
	return due
}

// ack forgets one copy of each message.
func (q *queueing) ack(msgs []queue.Message) {
	for _, m := range msgs {
		if i := slices.IndexFunc(q.msgs, func(x queue.Message) bool { return x.Topic == m.Topic && x.Key == m.Key }); i >= 0 {
			q.msgs = slices.Delete(q.msgs, i, i+1)
		}
	}
}
