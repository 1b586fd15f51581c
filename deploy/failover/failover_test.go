package failover

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"vendline/deploy/stack"
)

var cycles = flag.Int("failover.cycles", 1, "how often each blow falls")

// blow is one way to lose a master. It returns when whatever it killed runs again.
type blow struct {
	name string
	fall func(ctx context.Context, s *site, master *stack.Server) error
}

func blows() []blow {
	return []blow{
		{"master killed", func(ctx context.Context, s *site, m *stack.Server) error {
			if err := m.Kill(); err != nil {
				return err
			}
			return s.taken(ctx, m, m.Start)
		}},
		{"master frozen, and awake again", func(ctx context.Context, s *site, m *stack.Server) error {
			if err := m.Pause(); err != nil {
				return err
			}
			return s.taken(ctx, m, func(context.Context) error { return m.Resume() })
		}},
		{"its last writes lost", func(ctx context.Context, s *site, m *stack.Server) error {
			// Nobody copies what is sold in the next moments; then it dies.
			replicas := s.stack.Replicas(ctx)
			for _, n := range replicas {
				if err := n.Pause(); err != nil {
					return err
				}
				defer func() { _ = n.Resume() }() // whatever happens
			}
			began := time.Now()
			time.Sleep(400 * time.Millisecond)
			if err := m.Kill(); err != nil {
				return err
			}
			with, _ := s.shared(cabinet(0))
			if n := s.sold(began, with); n == 0 || len(replicas) == 0 {
				return fmt.Errorf("nothing was lost: %d replicas, %d orders in that time", len(replicas), n)
			}
			for _, n := range replicas {
				if err := n.Resume(); err != nil {
					return err
				}
			}
			return s.taken(ctx, m, m.Start)
		}},
	}
}

// taken waits until another node serves, then brings the old one back.
func (s *site) taken(ctx context.Context, old *stack.Server, back func(context.Context) error) error {
	for {
		now, err := s.stack.Master(ctx, cabinet(0))
		if err == nil && now != old {
			return back(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nobody takes over from %s: %w", old.Name(), ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestNothingIsOversoldWhenAMasterFailsOver(t *testing.T) {
	if testing.Short() {
		return
	}
	for name, o := range map[string]stack.Options{"cluster": {RedisCluster: true}, "sentinels": {RedisSentinel: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failOver(t, o)
		})
	}
}

func failOver(t *testing.T, o stack.Options) {
	s := openSite(t, o)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go s.sample(ctx)
	wait := s.load(ctx, 2)
	time.Sleep(2 * time.Second)
	for cycle := range *cycles {
		for _, b := range blows() {
			s.strike(fmt.Sprintf("%s, cycle %d", b.name, cycle+1), b)
		}
	}
	stop()
	wait()
	s.judge(8 * time.Second)
}

// strike lets a blow fall, and tells how long it was felt.
func (s *site) strike(name string, b blow) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	master, err := s.stack.Master(ctx, cabinet(0))
	s.ok(err)
	with, without := s.shared(cabinet(0))
	before := s.generations(ctx)
	s.failingOver(with)
	began := time.Now()
	fenced := make(chan time.Duration, 1)
	go func() {
		for s.incidents(ctx, began) == 0 && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		fenced <- time.Since(began)
	}()
	s.ok(b.fall(ctx, s, master))
	healed := time.Since(began)
	noticed := <-fenced
	time.Sleep(3 * time.Second) // the old master follows, and what it was asked is asked again
	s.failingOver(nil)
	time.Sleep(2 * time.Second)
	after := s.generations(ctx)
	for _, c := range with {
		if after[c] == before[c] {
			s.t.Errorf("%s: %s was not fenced", name, c)
		}
	}
	slow, no, yes := s.felt(began, without)
	s.t.Logf("%-36s new master met and fenced after %.2f s, healed after %.2f s; longest time without an order there %.2f s, elsewhere %.2f s (slowest answer %.2f s, %d yes, %d no)",
		name, noticed.Seconds(), healed.Seconds(), s.gap(began, with).Seconds(), s.gap(began, without).Seconds(), slow.Seconds(), yes, no)
	if ctx.Err() != nil {
		s.t.Errorf("%s: nobody noticed", name)
	}
}
