package simulation

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// seeds of one test run.
func seeds() uint64 {
	if testing.Short() {
		return 12
	}
	return 200
}

// play plays histories, two at a time: CI has two cores.
func play(t *testing.T, n uint64, opt Options, each func(Result) (more bool)) {
	t.Helper()
	var next atomic.Uint64
	var mu sync.Mutex
	var workers sync.WaitGroup
	var failed error
	var done bool
	for range 2 {
		workers.Go(func() {
			for seed := next.Add(1) - 1; seed < n; seed = next.Add(1) - 1 {
				r, err := Run(seed, opt)
				mu.Lock()
				failed = errors.Join(failed, err)
				done = done || err != nil || !each(r)
				over := done
				mu.Unlock()
				if over {
					return
				}
			}
		})
	}
	workers.Wait()
	if failed != nil {
		t.Fatal(failed)
	}
}

// Whatever goes wrong, every promise is kept; and each fault does go wrong.
func TestAnySeedKeepsEveryPromise(t *testing.T) {
	fired, orders, facts := map[Fault]int{}, 0, 0
	play(t, seeds(), Options{}, func(r Result) bool {
		for _, w := range r.Wrong {
			t.Errorf("seed %d: %s; see it with: vend replay --seed %d", r.Seed, w, r.Seed)
		}
		for f, n := range r.Fired {
			fired[f] += n
		}
		orders, facts = orders+r.Orders, facts+r.Facts
		return true
	})
	t.Logf("%d histories, %d orders, %d facts", seeds(), orders, facts)
	for _, f := range Faults() {
		t.Logf("%6d times %s", fired[f], f)
		if fired[f] == 0 && !testing.Short() {
			t.Errorf("it never happens that %s", f)
		}
	}
}

// The same seed is the same history, to the byte.
func TestASeedIsAHistory(t *testing.T) {
	n := uint64(24)
	if testing.Short() {
		n = 4
	}
	told := map[uint64]string{}
	for range 2 {
		play(t, n, Options{}, func(r Result) bool {
			if first, again := told[r.Seed]; again && first != r.Hash {
				t.Errorf("seed %d told two histories: %s and %s", r.Seed, first, r.Hash)
			}
			told[r.Seed] = r.Hash
			return true
		})
	}
}

// A simulator that cannot fail proves nothing: each rule that is left out of the
// real code must break a promise, within the seeds of CI.
func TestEachPlantedBugIsCaught(t *testing.T) {
	for _, bug := range Bugs() {
		if bug == NoTicket {
			continue // costs shoppers, not sums: cloud/pathtest counts them
		}
		t.Run(string(bug), func(t *testing.T) {
			var caught bool
			var played int
			play(t, 200, Options{Bug: bug}, func(r Result) bool {
				played++
				if len(r.Wrong) > 0 && !caught {
					caught = true
					t.Logf("caught after %d histories, by seed %d: %s", played, r.Seed, r.Wrong[0])
				}
				return !caught
			})
			if !caught {
				t.Error("no history notices")
			}
		})
	}
}
