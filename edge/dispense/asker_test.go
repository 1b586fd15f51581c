package dispense

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vendline/shared/wire"
)

// questions records when an asker asked, on the bubble's clock.
type questions struct {
	mu    sync.Mutex
	at    []time.Duration
	last  string
	began time.Time
	open  bool
}

func (q *questions) send(a wire.Ask) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open {
		q.at, q.last = append(q.at, time.Since(q.began)), a.ID
	}
	return q.open
}

func (q *questions) times() []time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]time.Duration(nil), q.at...)
}

func TestTheCabinetAsksOnConnectingEveryIntervalAndAgainWhenWoken(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{}) // outside: the outbox's own goroutines are not of the bubble
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		j := &Journal{opt: Options{Mono: func() time.Duration { return time.Since(began) }}, box: r.box,
			open: map[string]*standing{}, change: make(chan struct{})}
		j.opt.Timing.fill()
		q := &questions{began: began}
		n := 0
		a := NewAsker(j, "C001", func() (string, error) { n++; return uuid(n), nil }, func() float64 { return 0.5 }, q.send)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = a.Run(ctx) })

		time.Sleep(20 * time.Second) // no connection yet
		q.mu.Lock()
		q.open = true
		q.mu.Unlock()
		a.Connected()
		time.Sleep(16 * time.Second) // 0:36
		a.Woken()                    // and nobody answers for a while
		time.Sleep(10 * time.Second) // 0:46
		s := time.Second
		want := []time.Duration{20 * s, 35 * s, 36 * s, 38 * s, 42 * s}
		if got := q.times(); len(got) != len(want) {
			t.Fatalf("asked at %v, want %v", got, want)
		} else {
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("asked at %v, want %v", got, want)
				}
			}
		}
		cancel()
		all.Wait()
	})
}

func TestOnlyAnAnswerToAQuestionAfterTheWakeSatisfiesIt(t *testing.T) {
	r := openRig(t, t.TempDir(), Options{})
	n, last := 0, ""
	a := NewAsker(r.Journal, "C001", func() (string, error) { n++; return uuid(n), nil }, func() float64 { return 0.5 },
		func(q wire.Ask) bool { last = q.ID; return true })
	ask := func() string {
		t.Helper()
		if err := a.Ask(); err != nil {
			t.Fatal(err)
		}
		return last
	}
	answer := func(id string) {
		t.Helper()
		if err := a.Answer(t.Context(), wire.Command{Ask: id}); err != nil {
			t.Fatal(err)
		}
	}
	before := ask()
	a.Woken()
	after := ask()
	answer(before)
	if a.wait() != a.j.opt.Timing.Again {
		t.Fatalf("an answer from before the wake put it to rest: %v", a.wait())
	}
	answer(after)
	if a.wait() != a.j.opt.Timing.Ask {
		t.Fatalf("answered, and yet asks again in %v", a.wait())
	}
}
