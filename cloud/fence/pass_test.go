package fence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
)

// shelves are generations, as the ledger and as Redis has them.
type shelves struct {
	mu            sync.Mutex
	ledger, redis map[string]string
	broken        map[string]bool
	rebuilt       []string
}

func (s *shelves) rebuild(_ context.Context, c string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken[c] {
		return errors.New("broken")
	}
	s.redis[c] = s.ledger[c]
	s.rebuilt = append(s.rebuilt, c)
	return nil
}

type books struct{ *shelves }

func (b books) Generations(context.Context) (map[string]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]string{}
	for c, g := range b.ledger {
		out[c] = g
	}
	return out, nil
}

type cache struct{ *shelves }

func (b cache) Generations(context.Context, []string) (map[string]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]string{}
	for c, g := range b.redis {
		out[c] = g
	}
	return out, nil
}

func TestAPassRebuildsWhatIsStaleAndNothingElse(t *testing.T) {
	s := &shelves{ledger: map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}, redis: map[string]string{"a": "1", "b": "0", "d": "0"}, broken: map[string]bool{"b": true}}
	p := &Pass{Ledger: books{s}, Stock: cache{s}, Rebuild: s.rebuild, Log: slog.New(slog.DiscardHandler), Parallel: 2}
	if err := p.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.rebuilt)
	if got := fmt.Sprint(s.rebuilt, p.Stale()); got != "[c d] 1" {
		t.Errorf("rebuilt, and still stale: %s", got)
	}
	s.broken = nil
	if err := p.Once(t.Context()); err != nil || s.redis["b"] != "2" || p.Stale() != 0 {
		t.Errorf("the next pass: %v, %v, %d stale", err, s.redis, p.Stale())
	}
}

func TestAPassEndsWhenNothingCanBeRebuilt(t *testing.T) {
	s := &shelves{ledger: map[string]string{}, redis: map[string]string{}, broken: map[string]bool{}}
	for n := range 100 {
		c := fmt.Sprint("c", n)
		s.ledger[c], s.broken[c] = "1", true
	}
	p := &Pass{Ledger: books{s}, Stock: cache{s}, Rebuild: s.rebuild, Log: slog.New(slog.DiscardHandler)}
	if err := p.Once(t.Context()); err == nil {
		t.Error("it went through all of them")
	}
}
