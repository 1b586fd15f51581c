package relay

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"vendline/cloud/outbox"
	"vendline/cloud/queue"
)

// Stalled hands stock rows to step 8 in this process when the queue brings
// nothing: a broker that is away, or a client whose pulls hang after the broker
// came back. A shard is silent when nothing of it is being handled, and nothing
// was for Silence.
//
// Promise: none of its own. The row stays until step 8 has applied it, in that
// transaction; the queue's message, should it still come, states what the deduct
// log knows. Dies before the claim: the row is as it was. Dies after it: the row
// comes again when its lease ends, and is sent to the queue.
type Stalled struct {
	Store Claimer
	Apply queue.Handler // step 8's
	Topic string
	Lease time.Duration // of a claimed row
	Clock func() time.Time
	Log   *slog.Logger

	Silence time.Duration // also the age from which a row is overdue; 0 means 2 s
	Every   time.Duration // between two looks; 0 means 500 ms
	Shards  int

	Taken atomic.Int64 // rows applied past the queue

	tell time.Time // from when on it may be said again that the queue is silent

	mu    sync.Mutex
	heard map[int]time.Time // when a shard was last handled
	under map[int]int       // handlers under way
}

// Claimer leases stock rows of shards that nobody has claimed yet and that are
// older than age.
type Claimer interface {
	ClaimStalled(ctx context.Context, n int, shards []int, age, lease time.Duration) ([]outbox.Row, error)
}

// Hear is h, watched.
func (s *Stalled) Hear(h queue.Handler) queue.Handler {
	return func(ctx context.Context, msgs []queue.Message) error {
		s.note(msgs, 1)
		defer s.note(msgs, -1)
		return h(ctx, msgs)
	}
}

func (s *Stalled) note(msgs []queue.Message, by int) {
	now := s.Clock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard == nil {
		s.heard, s.under = map[int]time.Time{}, map[int]int{}
	}
	for _, m := range msgs {
		s.heard[m.Shard] = now
		s.under[m.Shard] += by
	}
}

// silent lists the shards of which nothing comes: those that came before, and
// all of them if nothing comes at all. What never came here while others do is
// another process's.
func (s *Stalled) silent() []int {
	since := s.Clock().Add(-s.silence())
	s.mu.Lock()
	defer s.mu.Unlock()
	var quiet []int
	any := false
	for k := range s.Shards {
		switch at, ours := s.heard[k]; {
		case s.under[k] > 0 || at.After(since):
			any = true
		case ours:
			quiet = append(quiet, k)
		}
	}
	if any {
		return quiet
	}
	all := make([]int, s.Shards)
	for k := range all {
		all[k] = k
	}
	return all
}

func (s *Stalled) silence() time.Duration {
	if s.Silence <= 0 {
		return 2 * time.Second
	}
	return s.Silence
}

// tellEvery is the shortest time between two lines that say so.
const tellEvery = 30 * time.Second

// most rows of one hand-over.
const most = 64

// Run looks until ctx ends.
func (s *Stalled) Run(ctx context.Context) {
	every := s.Every
	if every <= 0 {
		every = 500 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for s.look(ctx) == most && ctx.Err() == nil {
			}
		case <-ctx.Done():
			return
		}
	}
}

// look hands over what is overdue, and says how many rows that were.
func (s *Stalled) look(ctx context.Context) int {
	shards := s.silent()
	if len(shards) == 0 {
		return 0
	}
	rows, err := s.Store.ClaimStalled(ctx, most, shards, s.silence(), s.Lease)
	if err == nil && len(rows) > 0 {
		err = s.hand(ctx, rows)
	}
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("rows of a silent queue are not applied; they come again", "rows", len(rows), "error", err)
		}
		return 0
	}
	if len(rows) > 0 {
		s.Taken.Add(int64(len(rows)))
		if now := s.Clock(); !now.Before(s.tell) {
			s.tell = now.Add(tellEvery)
			s.Log.Warn("the queue brings nothing; its rows go to step 8 directly", "rows", len(rows), "shards", shards, "rows_so_far", s.Taken.Load())
		}
	}
	return len(rows)
}

func (s *Stalled) hand(ctx context.Context, rows []outbox.Row) error {
	msgs := make([]queue.Message, len(rows))
	for i, r := range rows {
		msgs[i] = queue.Message{Topic: s.Topic, Key: r.ID, Shard: r.Shard, Body: r.Payload}
	}
	return s.Apply(ctx, msgs)
}
