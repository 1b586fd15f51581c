package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vendline/cloud/outbox"
	"vendline/cloud/queue"
	"vendline/cloud/relay"
)

// shelf is a table of stock rows, and what step 8 applied of them.
type shelf struct {
	mu      sync.Mutex
	rows    []outbox.Row
	applied []string
	fail    error
}

func (s *shelf) add(id string, shard int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, outbox.Row{ID: id, Shard: shard, CreatedAt: time.Now()})
}

func (s *shelf) ClaimStalled(_ context.Context, n int, shards []int, age, _ time.Duration) (out []outbox.Row, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.rows {
		r := &s.rows[i]
		if len(out) < n && r.Attempts == 0 && slices.Contains(shards, r.Shard) && time.Since(r.CreatedAt) >= age {
			r.Attempts++
			out = append(out, *r)
		}
	}
	return out, nil
}

func (s *shelf) apply(_ context.Context, msgs []queue.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range msgs {
		if s.fail == nil {
			s.applied = append(s.applied, m.Key)
		}
	}
	return s.fail
}

func (s *shelf) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.applied)
}

// watched runs a watch over s while do happens; hear is the queue's handler.
func watched(t *testing.T, s *shelf, do func(hear queue.Handler)) {
	synctest.Test(t, func(t *testing.T) {
		w := &relay.Stalled{Store: s, Apply: s.apply, Topic: "t", Lease: 20 * time.Second, Shards: 4, Clock: time.Now, Log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		do(w.Hear(func(context.Context, []queue.Message) error { return nil }))
		cancel()
		<-done
	})
}

func TestRowsOfASilentQueueAreAppliedDirectlyOnce(t *testing.T) {
	s := &shelf{}
	watched(t, s, func(queue.Handler) {
		time.Sleep(time.Minute)
		s.add("a", 0)
		s.add("b", 3)
		time.Sleep(1900 * time.Millisecond)
		if got := s.got(); len(got) > 0 {
			t.Errorf("applied %v: the queue may still bring it", got)
		}
		time.Sleep(time.Minute)
	})
	if !slices.Equal(s.applied, []string{"a", "b"}) {
		t.Errorf("applied %v", s.applied)
	}
}

func TestAQueueThatBringsSomethingIsLeftToItsWork(t *testing.T) {
	s := &shelf{}
	watched(t, s, func(hear queue.Handler) {
		for k := range 4 {
			s.add("late", k)
		}
		for range 100 { // it is behind, not silent
			for k := range 4 {
				_ = hear(t.Context(), []queue.Message{{Shard: k}})
			}
			time.Sleep(time.Second)
		}
	})
	if len(s.applied) > 0 {
		t.Errorf("applied %v", s.applied)
	}
}

func TestOneSilentShardOfABusyQueueIsSeen(t *testing.T) {
	s := &shelf{}
	watched(t, s, func(hear queue.Handler) {
		for k := range 3 { // shard 3 is another process's
			_ = hear(t.Context(), []queue.Message{{Shard: k}})
		}
		for k := range 4 {
			s.add(string(rune('0'+k)), k)
		}
		for range 100 {
			_ = hear(t.Context(), []queue.Message{{Shard: 0}})
			_ = hear(t.Context(), []queue.Message{{Shard: 1}})
			time.Sleep(time.Second)
		}
	})
	if !slices.Equal(s.applied, []string{"2"}) {
		t.Errorf("applied %v, want the row of shard 2", s.applied)
	}
}

func TestAHandlerUnderWayIsNoSilence(t *testing.T) {
	s := &shelf{}
	synctest.Test(t, func(t *testing.T) {
		w := &relay.Stalled{Store: s, Apply: s.apply, Shards: 1, Clock: time.Now, Log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		s.add("a", 0)
		slow := w.Hear(func(context.Context, []queue.Message) error { time.Sleep(time.Minute); return nil })
		_ = slow(t.Context(), []queue.Message{{Shard: 0}}) // the database is away, say
		if got := s.got(); len(got) > 0 {
			t.Errorf("applied %v", got)
		}
		time.Sleep(3 * time.Second)
		cancel()
		<-done
	})
	if len(s.applied) != 1 {
		t.Errorf("applied %v", s.applied)
	}
}

func TestWhatStepEightCannotTakeIsLeftToItsLease(t *testing.T) {
	s := &shelf{fail: errors.New("away")}
	watched(t, s, func(queue.Handler) {
		s.add("a", 0)
		time.Sleep(time.Minute)
	})
	if s.rows[0].Attempts != 1 {
		t.Errorf("claimed %d times", s.rows[0].Attempts)
	}
}
