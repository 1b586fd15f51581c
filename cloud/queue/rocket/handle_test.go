package rocket

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"vendline/cloud/queue"
)

func member(q *Queue, h queue.Handler) *receiver {
	q.opt.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	return &receiver{q: q, topic: "t", group: "g", handle: h, ctx: context.Background(), gone: make(chan struct{})}
}

func arrived(key string, failures int) *primitive.MessageExt {
	m := &primitive.MessageExt{Message: primitive.Message{Topic: "t", Body: []byte(key)}}
	m.WithKeys([]string{key})
	m.WithProperty(propShard, "7")
	if failures > 0 {
		m.WithProperty(propAttempt, strconv.Itoa(failures))
	}
	return m
}

// What fails is sent again before it is acknowledged: later each time, counted,
// and to the same shard. The others of its batch do not come back once they
// were handled without it.
func TestFailureIsSentAgainThenAcknowledged(t *testing.T) {
	q, f := withSender(sendOK)
	var calls [][]string
	r := member(q, func(_ context.Context, msgs []queue.Message) error {
		var keys []string
		bad := false
		for _, m := range msgs {
			keys = append(keys, m.Key)
			bad = bad || m.Key == "poison"
		}
		calls = append(calls, keys)
		if bad {
			return errors.New("poison")
		}
		return nil
	})
	result, err := r.consume(t.Context(), arrived("good", 1), arrived("poison", 4), arrived("fresh", 0))
	if result != consumer.ConsumeSuccess || err != nil {
		t.Errorf("result %v, %v", result, err)
	}
	if len(calls) != 3 { // each that failed before alone, the fresh together
		t.Errorf("handler calls %v", calls)
	}
	if len(f.sent) != 1 {
		t.Fatalf("%d messages were sent again", len(f.sent))
	}
	m := f.sent[0][0]
	if m.GetKeys() != "poison" || m.GetProperty(propAttempt) != "5" || m.GetProperty(propShard) != "7" || m.GetProperty(primitive.PropertyDelayTimeLevel) != "5" {
		t.Errorf("sent again: %v", m.GetProperties())
	}
}

// If it cannot be sent again, nothing is acknowledged: the broker brings all back.
func TestFailureThatCannotBeSentAgainComesBack(t *testing.T) {
	q, _ := withSender(func() (*primitive.SendResult, error) { return nil, errors.New("away") })
	r := member(q, func(context.Context, []queue.Message) error { panic("broken") })
	if result, err := r.consume(t.Context(), arrived("a", 0)); result != consumer.ConsumeRetryLater || err != nil {
		t.Errorf("result %v, %v", result, err)
	}
}

// A message that the broker's timer brings too early waits for its time.
func TestEarlyMessageIsPutBack(t *testing.T) {
	q, f := withSender(sendOK)
	r := member(q, func(context.Context, []queue.Message) error { t.Error("delivered early"); return nil })
	due := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	early := arrived("early", 0)
	early.WithProperty(propDue, strconv.FormatInt(due.UnixMilli(), 10))
	if result, _ := r.consume(t.Context(), early); result != consumer.ConsumeSuccess {
		t.Errorf("result %v", result)
	}
	if len(f.sent) != 1 || f.sent[0][0].GetProperty(primitive.PropertyTimerDeliverMS) != strconv.FormatInt(due.UnixMilli(), 10) {
		t.Errorf("sent again: %v", f.sent)
	}
}

// A member that leaves acknowledges nothing more.
func TestLeavingAcknowledgesNothing(t *testing.T) {
	q, f := withSender(sendOK)
	r := member(q, func(context.Context, []queue.Message) error { t.Error("delivered after leaving"); return nil })
	r.leaving = true
	close(r.gone)
	if result, _ := r.consume(t.Context(), arrived("a", 0)); result != consumer.ConsumeRetryLater {
		t.Errorf("result %v", result)
	}
	if len(f.sent) != 0 {
		t.Error("sent again while leaving")
	}
}

func TestAttemptsAreCounted(t *testing.T) {
	q, _ := withSender(sendOK)
	r := member(q, nil)
	m := arrived("a", 3)
	m.ReconsumeTimes = 2
	if got := r.decode(m); got.Attempt != 6 || got.Shard != 7 || got.Key != "a" {
		t.Errorf("%+v", got)
	}
}
