package relay_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"vendline/cloud/outbox"
	"vendline/cloud/queue"
	"vendline/cloud/relay"
)

type sender struct {
	sent []queue.Message
	err  error
}

func (s *sender) Send(_ context.Context, msgs ...queue.Message) error {
	if s.err == nil {
		s.sent = append(s.sent, msgs...)
	}
	return s.err
}

type store struct{ deleted []string }

func (s *store) Claim(context.Context, outbox.Kind, int, func(int) time.Duration) ([]outbox.Row, error) {
	return nil, nil
}

func (s *store) Delete(_ context.Context, ids ...string) error {
	s.deleted = append(s.deleted, ids...)
	return nil
}

func TestAStockRowIsSentToItsShardAndStays(t *testing.T) {
	q, s := &sender{}, &store{}
	r := &relay.Relay{Sender: q, Store: s, Topics: relay.DefaultTopics()}
	if err := r.Stock(t.Context(), []outbox.Row{{ID: "a", Shard: 3, Payload: []byte("x")}, {ID: "b", Payload: []byte("y")}}); err != nil {
		t.Fatal(err)
	}
	if len(q.sent) != 2 || q.sent[0].Topic != "StockTopic" || q.sent[0].Shard != 3 || q.sent[0].Key != "a" || string(q.sent[0].Body) != "x" || !q.sent[0].DeliverAt.IsZero() {
		t.Errorf("sent %+v", q.sent)
	}
	if len(s.deleted) != 0 {
		t.Errorf("deleted %v before step 8 has applied them", s.deleted)
	}
}

func TestATimerRowIsSentForWhenItsHoldsEndAndGoes(t *testing.T) {
	q, s := &sender{}, &store{}
	r := &relay.Relay{Sender: q, Store: s, Topics: relay.DefaultTopics()}
	end := time.UnixMilli(1_800_000_000_000)
	if err := r.Timer(t.Context(), []outbox.Row{{ID: "a", Payload: []byte("{")}, {ID: "b", Payload: []byte(`{"at":1800000000000,"ids":["o"]}`)}}); err != nil {
		t.Fatal(err)
	}
	if len(q.sent) != 1 || q.sent[0].Topic != "TimerTopic" || q.sent[0].DeliverAt.Before(end) || q.sent[0].DeliverAt.After(end.Add(time.Second)) {
		t.Errorf("sent %+v", q.sent)
	}
	if !slices.Equal(s.deleted, []string{"a", "b"}) {
		t.Errorf("deleted %v", s.deleted)
	}
}

func TestWhatWasNotSentStays(t *testing.T) {
	q, s := &sender{err: errors.New("away")}, &store{}
	r := &relay.Relay{Sender: q, Store: s, Topics: relay.DefaultTopics()}
	rows := []outbox.Row{{ID: "b", Payload: []byte(`{"at":1,"ids":["o"]}`)}}
	if err := r.Timer(t.Context(), rows); !errors.Is(err, q.err) || len(s.deleted) != 0 {
		t.Errorf("%v, deleted %v", err, s.deleted)
	}
	if err := r.Stock(t.Context(), rows); !errors.Is(err, q.err) {
		t.Errorf("got %v", err)
	}
}
