package rocket

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"vendline/cloud/queue"
)

// pauses are the broker's delay levels for a message that failed once, twice …
// (1 s, 5 s, 10 s, 30 s, 1 min, and 1 min from then on).
var pauses = [...]int{1, 2, 3, 4, 5}

// consume is called by the library, concurrently. It takes one result for all
// messages, so what fails is sent again, alone and later, and all are
// acknowledged: a poison message then holds nobody but itself.
func (r *receiver) consume(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	r.mu.Lock()
	if r.leaving {
		r.mu.Unlock()
		<-r.gone
		return consumer.ConsumeRetryLater, nil // ignored: the queue is dropped, others get the messages at once
	}
	r.under.Add(1)
	r.mu.Unlock()
	failed := r.work(ms)
	hurried := len(failed) > 0 && r.ctx.Err() != nil
	if len(failed) > 0 && !hurried {
		if err := r.again(failed); err != nil {
			r.q.opt.Log.Error("queue: messages could not be put back one by one; all of them come again", "topic", r.topic, "group", r.group, "err", err)
			r.under.Done()
			return consumer.ConsumeRetryLater, nil
		}
	}
	r.under.Done()
	if hurried { // we are leaving, though nobody may have said so yet
		<-r.gone
		return consumer.ConsumeRetryLater, nil
	}
	return consumer.ConsumeSuccess, nil
}

// work hands messages over, those that never failed together and the others one
// by one, and returns those that failed now.
func (r *receiver) work(ms []*primitive.MessageExt) (failed []queue.Message) {
	var fresh []queue.Message
	for _, m := range ms {
		msg := r.decode(m)
		if wait := time.Until(msg.DeliverAt); wait > 0 { // the timer's clock ran ahead of ours
			failed = append(failed, msg)
			continue
		}
		if msg.Attempt > 1 {
			failed = append(failed, r.deliver([]queue.Message{msg})...)
			continue
		}
		fresh = append(fresh, msg)
	}
	return append(failed, r.deliver(fresh)...)
}

func (r *receiver) deliver(msgs []queue.Message) (failed []queue.Message) {
	if len(msgs) == 0 {
		return nil
	}
	err := r.safely(msgs)
	if err == nil {
		return nil
	}
	if r.ctx.Err() == nil {
		r.q.opt.Log.Warn("queue: handler refused messages; they come again", "topic", r.topic, "group", r.group, "messages", len(msgs), "attempt", msgs[0].Attempt, "err", err)
	}
	return msgs
}

func (r *receiver) safely(msgs []queue.Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	return r.handle(r.ctx, msgs)
}

// again sends each message once more, to be delivered after a pause that grows.
func (r *receiver) again(msgs []queue.Message) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*r.q.opt.Timeout)
	defer cancel()
	for _, m := range msgs {
		p := r.q.encode(m)
		if m.DeliverAt.After(time.Now()) {
			delay(p, m.DeliverAt)
		} else {
			p.WithProperty(propAttempt, strconv.Itoa(m.Attempt))
			p.WithDelayTimeLevel(pauses[min(m.Attempt, len(pauses))-1])
		}
		if err := r.q.sendOne(ctx, []*primitive.Message{p}); err != nil {
			return err
		}
	}
	return nil
}

func (r *receiver) decode(m *primitive.MessageExt) queue.Message {
	msg := queue.Message{Topic: r.topic, Key: m.GetKeys(), Body: m.Body, Origin: originOf(r.topic, m.GetProperty)}
	msg.Shard, _ = strconv.Atoi(m.GetProperty(propShard))
	before, _ := strconv.Atoi(m.GetProperty(propAttempt))
	msg.Attempt = 1 + before + int(m.ReconsumeTimes)
	if due, err := strconv.ParseInt(m.GetProperty(propDue), 10, 64); err == nil {
		msg.DeliverAt = time.UnixMilli(due)
	}
	return msg
}
