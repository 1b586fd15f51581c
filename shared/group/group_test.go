package group_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vendline/shared/group"
)

type item struct {
	n      int
	answer int
	weight int
}

func (i *item) Weight() int { return max(1, i.weight) }

// bus is a trip that can be held at the stop, and remembers who travelled.
type bus struct {
	mu    sync.Mutex
	trips [][]int
	gate  chan struct{} // nil: never held
}

func (b *bus) drive(_ context.Context, items []*item) []error {
	if b.gate != nil {
		<-b.gate
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var on []int
	for _, i := range items {
		on = append(on, i.n)
		i.answer = i.n * 2
	}
	b.trips = append(b.trips, on)
	return nil
}

func TestALoneCallerLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bus{}
		g := group.New(group.Options{}, b.drive)
		defer g.Close()
		begun, i := time.Now(), &item{n: 21}
		if err := g.Do(t.Context(), i); err != nil || i.answer != 42 || time.Since(begun) != 0 {
			t.Errorf("%v, %d after %v", err, i.answer, time.Since(begun))
		}
	})
}

func TestThoseWhoComeDuringATripShareTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bus{gate: make(chan struct{})}
		g := group.New(group.Options{Max: 8}, b.drive)
		defer g.Close()
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() {
				if err := g.Do(t.Context(), &item{n: n}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // one after the other: the first is under way
		}
		close(b.gate)
		wg.Wait()
		if len(b.trips) != 4 || len(b.trips[0]) != 1 || len(b.trips[1]) != 8 || len(b.trips[2]) != 8 || len(b.trips[3]) != 3 {
			t.Errorf("trips %v", b.trips)
		}
	})
}

func TestALoneItemLingersForCompanyAndAFullTripDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bus{}
		g := group.New(group.Options{Max: 10, Linger: 5 * time.Millisecond}, b.drive)
		defer g.Close()
		begun := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { _ = g.Do(t.Context(), &item{n: 1}) })
		time.Sleep(3 * time.Millisecond)
		wg.Go(func() { _ = g.Do(t.Context(), &item{n: 2}) })
		wg.Wait()
		if len(b.trips) != 1 || time.Since(begun) != 5*time.Millisecond {
			t.Errorf("trips %v after %v", b.trips, time.Since(begun))
		}
		begun = time.Now()
		if _ = g.Do(t.Context(), &item{n: 3, weight: 10}); time.Since(begun) != 0 {
			t.Errorf("a heavy item waited %v for company", time.Since(begun))
		}
	})
}

func TestEachItemHearsItsOwnError(t *testing.T) {
	odd := errors.New("odd")
	g := group.New(group.Options{}, func(_ context.Context, items []*item) []error {
		errs := make([]error, len(items))
		for i, it := range items {
			if it.n%2 == 1 {
				errs[i] = odd
			}
		}
		return errs
	})
	defer g.Close()
	var wg sync.WaitGroup
	for n := range 100 {
		wg.Go(func() {
			if err := g.Do(t.Context(), &item{n: n}); (err != nil) != (n%2 == 1) {
				t.Errorf("%d: %v", n, err)
			}
		})
	}
	wg.Wait()
}

func TestAPanicIsItsPassengersErrorAndTheNextTripGoes(t *testing.T) {
	g := group.New(group.Options{}, func(_ context.Context, items []*item) []error {
		if items[0].n == 13 {
			panic("unlucky")
		}
		return nil
	})
	defer g.Close()
	if err := g.Do(t.Context(), &item{n: 13}); err == nil {
		t.Error("a panic is no success")
	}
	if err := g.Do(t.Context(), &item{n: 1}); err != nil {
		t.Error(err)
	}
}

func TestATripThatAnswersForTooFewIsAnErrorForAll(t *testing.T) {
	g := group.New(group.Options{}, func(context.Context, []*item) []error { return make([]error, 7) })
	defer g.Close()
	if err := g.Do(t.Context(), &item{}); err == nil {
		t.Error("nobody knows whose answers these are")
	}
}

func TestACallerMayGiveUpWithoutTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bus{gate: make(chan struct{})}
		g := group.New(group.Options{Queue: 1}, b.drive)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for n := range 4 { // under way, waiting, and two who do not even get in
			wg.Go(func() {
				if err := g.Do(ctx, &item{n: n}); !errors.Is(err, context.Canceled) {
					t.Errorf("%d: %v", n, err)
				}
			})
			synctest.Wait()
		}
		cancel()
		wg.Wait()
		close(b.gate)
		if err := g.Do(t.Context(), &item{n: 9}); err != nil {
			t.Error(err)
		}
		g.Close()
	})
}

func TestCloseCarriesOutWhoWaitsAndRefusesWhoComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bus{gate: make(chan struct{})}
		g := group.New(group.Options{Max: 2, Workers: 2}, b.drive)
		var wg sync.WaitGroup
		for n := range 9 {
			wg.Go(func() {
				if err := g.Do(t.Context(), &item{n: n}); err != nil {
					t.Errorf("%d: %v", n, err)
				}
			})
		}
		synctest.Wait()
		closed := make(chan struct{})
		go func() { g.Close(); close(closed) }()
		synctest.Wait()
		if err := g.Do(t.Context(), &item{n: 99}); !errors.Is(err, group.ErrClosed) {
			t.Errorf("got %v", err)
		}
		close(b.gate)
		wg.Wait()
		<-closed
		g.Close() // again is no error
	})
}

func TestCloseWaitsForATripNoLongerThanItsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group.New(group.Options{Grace: time.Second}, func(ctx context.Context, items []*item) []error {
			<-ctx.Done() // a database that is away
			return []error{ctx.Err()}
		})
		heard := make(chan error, 1)
		go func() { heard <- g.Do(context.Background(), &item{}) }()
		synctest.Wait()
		begun := time.Now()
		g.Close()
		if time.Since(begun) != time.Second || <-heard == nil {
			t.Errorf("closed after %v", time.Since(begun))
		}
	})
}
