package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vendline/cloud/outbox"
)

// table is a store of rows in memory, and what was carried out of it.
type table struct {
	mu      sync.Mutex
	rows    map[string]outbox.Row
	carried []string
	fail    func(n int) error // the nth carry's error
	carries int
	leases  []time.Duration
}

func (s *table) Claim(_ context.Context, _ outbox.Kind, n int, lease func(int) time.Duration) ([]outbox.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []outbox.Row
	for id, r := range s.rows {
		if len(out) < n && !r.DueAt.After(time.Now()) {
			r.Attempts++
			s.leases = append(s.leases, lease(r.Attempts))
			r.DueAt = time.Now().Add(lease(r.Attempts))
			s.rows[id] = r
			out = append(out, r)
		}
	}
	return out, nil
}

func (s *table) Delete(_ context.Context, ids ...string) error {
	for _, id := range ids {
		delete(s.rows, id)
	}
	return nil
}

func (s *table) carry(_ context.Context, rows []outbox.Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carries++
	if s.fail != nil {
		if err := s.fail(s.carries); err != nil {
			return err
		}
	}
	for _, r := range rows {
		s.carried = append(s.carried, r.ID)
		delete(s.rows, r.ID)
	}
	return nil
}

func (s *table) runner(r *outbox.Runner) *outbox.Runner {
	r.Kind, r.Store, r.Carry, r.Log = outbox.KindRedis, s, s.carry, slog.New(slog.DiscardHandler)
	return r
}

// during runs a runner while do happens.
func during(t *testing.T, r *outbox.Runner, do func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { r.Run(ctx); close(done) }()
	do()
	cancel()
	<-done
}

func TestAFedRowIsCarriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &table{}
		r := s.runner(&outbox.Runner{})
		r.Feed(outbox.Row{ID: "before the start"})
		during(t, r, func() {
			r.Feed(outbox.Row{ID: "after"})
			synctest.Wait()
		})
		if !slices.Equal(s.carried, []string{"before the start", "after"}) {
			t.Errorf("carried %v", s.carried)
		}
	})
}

func TestRowsThatWaitAreCarriedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &table{}
		r := s.runner(&outbox.Runner{Batch: 10})
		for i := range 25 {
			r.Feed(outbox.Row{ID: fmt.Sprint(i)})
		}
		during(t, r, synctest.Wait)
		if s.carries != 3 || len(s.carried) != 25 {
			t.Errorf("%d rows in %d carries", len(s.carried), s.carries)
		}
	})
}

func TestAFailedCarryIsTriedAgainAndThenLeftToThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &table{fail: func(n int) error {
			if n <= 3 {
				return errors.New("away")
			}
			return nil
		}}
		r := s.runner(&outbox.Runner{})
		r.Feed(outbox.Row{ID: "a"})
		during(t, r, func() { time.Sleep(time.Minute) })
		if s.carries != 4 || len(s.carried) != 1 {
			t.Errorf("%d carries, carried %v", s.carries, s.carried)
		}

		s = &table{fail: func(int) error { return errors.New("away") }}
		r = s.runner(&outbox.Runner{})
		r.Feed(outbox.Row{ID: "a"})
		during(t, r, func() { time.Sleep(time.Hour) })
		if s.carries != 5 {
			t.Errorf("%d carries of a row that only the poll may have by now", s.carries)
		}
	})
}

func TestTheFeedNeverBlocksWhoCommits(t *testing.T) {
	s := &table{}
	r := s.runner(&outbox.Runner{})
	for range 100_000 { // nobody carries
		r.Feed(outbox.Row{})
	}
}

func TestThePollFindsWhatNobodyCarried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &table{rows: map[string]outbox.Row{}}
		for i := range 25 {
			s.rows[fmt.Sprint(i)] = outbox.Row{ID: fmt.Sprint(i), DueAt: time.Now().Add(5 * time.Second)}
		}
		r := s.runner(&outbox.Runner{Batch: 10, Poll: time.Second, Lease: 5 * time.Second})
		during(t, r, func() {
			time.Sleep(4500 * time.Millisecond)
			s.mu.Lock()
			if len(s.carried) != 0 {
				t.Errorf("carried %v within somebody's lease", s.carried)
			}
			s.mu.Unlock()
			time.Sleep(time.Second)
		})
		if len(s.carried) != 25 {
			t.Errorf("carried %d of 25", len(s.carried))
		}
	})
}

func TestLeasesDoubleFromTheFirstUpToTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &table{rows: map[string]outbox.Row{"a": {ID: "a"}}, fail: func(int) error { return errors.New("away") }}
		r := s.runner(&outbox.Runner{Poll: time.Second, Lease: 20 * time.Second})
		during(t, r, func() { time.Sleep(2 * time.Hour) })
		want := []time.Duration{20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 320 * time.Second, 10 * time.Minute, 10 * time.Minute}
		if len(s.leases) < len(want) || !slices.Equal(s.leases[:len(want)], want) {
			t.Errorf("leases %v", s.leases)
		}
	})
}
