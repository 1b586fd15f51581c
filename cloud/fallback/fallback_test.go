package fallback_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vendline/cloud/effect"
	"vendline/cloud/fallback"
	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/statement"
	"vendline/shared/group"
	"vendline/shared/wire"
)

// filter is a Redis that answers, refuses or hangs as it is told.
type filter struct {
	asked atomic.Int64
	mu    sync.Mutex
	err   error
	hang  bool
}

func (f *filter) set(err error, hang bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.hang = err, hang
}

func (f *filter) answer(ctx context.Context) error {
	f.asked.Add(1)
	f.mu.Lock()
	err, hang := f.err, f.hang
	f.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (f *filter) Deduct(ctx context.Context, _ order.Basket) (order.Taken, error) {
	return order.Taken{Run: order.Run{Generation: "g.f", Ticket: 1}}, f.answer(ctx)
}
func (f *filter) Generation(ctx context.Context, _ string) (string, error) { return "", f.answer(ctx) }
func (f *filter) Load(ctx context.Context, _ fence.Snapshot) error         { return f.answer(ctx) }
func (f *filter) Release(ctx context.Context, rs []effect.Release) []effect.Result {
	return f.results(ctx, len(rs))
}
func (f *filter) Adjust(ctx context.Context, as []effect.Adjust) []effect.Result {
	return f.results(ctx, len(as))
}
func (f *filter) results(ctx context.Context, n int) []effect.Result {
	out, err := make([]effect.Result, n), f.answer(ctx)
	for i := range out {
		out[i].Err = err
	}
	return out
}
func (f *filter) Held(ctx context.Context, _ string, _ time.Duration) ([]orphan.Hold, error) {
	return nil, f.answer(ctx)
}
func (f *filter) Settle(ctx context.Context, _ []statement.Settled) error { return f.answer(ctx) }
func (f *filter) Sellable(ctx context.Context, _ string) (map[string]int64, error) {
	return nil, f.answer(ctx)
}
func (f *filter) SellableMany(ctx context.Context, _ []string) (map[string]map[string]int64, error) {
	return nil, f.answer(ctx)
}

// dial is how a server that is away looks.
var dial = &net.OpError{Op: "dial", Err: errors.New("connection refused")}

var ann = order.Order{ID: "01900000-0000-7000-8000-000000000001", Cabinet: "C1", User: "ann", Version: 1}

func guard(f *filter, change func(*fallback.Options)) *fallback.Stock {
	opt := fallback.Options{Probe: f.answer}
	if change != nil {
		change(&opt)
	}
	return &fallback.Stock{Filter: f, Breaker: fallback.NewBreaker(opt)}
}

func deduct(ctx context.Context, s *fallback.Stock) error {
	_, err := s.Deduct(ctx, order.Basket{ID: ann.ID})
	return err
}

func TestFiveCallsInARowWithoutAnAnswerOpenIt(t *testing.T) {
	f := &filter{err: dial}
	s := guard(f, nil)
	for i := range 5 {
		if s.Breaker.Away() {
			t.Fatalf("away after %d failures", i)
		}
		if err := deduct(t.Context(), s); !errors.Is(err, fallback.ErrAway) || !errors.Is(err, dial) {
			t.Fatalf("got %v", err)
		}
	}
	if state, since := s.Breaker.State(); state != "open" || since.IsZero() || s.Breaker.Opened() != 1 {
		t.Errorf("%s since %v, opened %d times", state, since, s.Breaker.Opened())
	}
	if err := deduct(t.Context(), s); !errors.Is(err, fallback.ErrAway) || f.asked.Load() != 5 {
		t.Errorf("%v; Redis was asked %d times", err, f.asked.Load())
	}
}

// What says no is there; and who goes away says nothing about Redis.
func TestAnswersAndCallersWhoLeaveDoNotOpenIt(t *testing.T) {
	moved := errors.New("moved")
	for _, err := range []error{
		&order.Refusal{Code: wire.CodeStockShort}, order.ErrNotLoaded, moved, context.Canceled, group.ErrClosed, nil,
	} {
		f := &filter{err: err}
		s := guard(f, func(o *fallback.Options) { o.Answered = func(err error) bool { return errors.Is(err, moved) } })
		for range 20 {
			if got := deduct(t.Context(), s); !errors.Is(got, err) || errors.Is(got, fallback.ErrAway) {
				t.Fatalf("%v became %v", err, got)
			}
		}
		if s.Breaker.Away() {
			t.Errorf("%v opened it", err)
		}
	}
}

func TestADeadlineThatPassesIsNoAnswer(t *testing.T) {
	s := guard(&filter{hang: true}, nil)
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := deduct(ctx, s); !errors.Is(err, fallback.ErrAway) {
			t.Errorf("got %v", err)
		}
		cancel()
	}
	if !s.Breaker.Away() {
		t.Error("still closed")
	}
}

func TestEveryWayToRedisIsCountedAndClosed(t *testing.T) {
	ctx := t.Context()
	for name, call := range map[string]func(*fallback.Stock) error{
		"generation":    func(s *fallback.Stock) error { _, err := s.Generation(ctx, "C1"); return err },
		"load":          func(s *fallback.Stock) error { return s.Load(ctx, fence.Snapshot{}) },
		"release":       func(s *fallback.Stock) error { return s.Release(ctx, make([]effect.Release, 2))[1].Err },
		"adjust":        func(s *fallback.Stock) error { return s.Adjust(ctx, make([]effect.Adjust, 2))[1].Err },
		"held":          func(s *fallback.Stock) error { _, err := s.Held(ctx, "C1", 0); return err },
		"settle":        func(s *fallback.Stock) error { return s.Settle(ctx, nil) },
		"sellable":      func(s *fallback.Stock) error { _, err := s.Sellable(ctx, "C1"); return err },
		"sellable many": func(s *fallback.Stock) error { _, err := s.SellableMany(ctx, nil); return err },
	} {
		t.Run(name, func(t *testing.T) {
			f := &filter{}
			s := guard(f, nil)
			if err := call(s); err != nil {
				t.Fatal(err)
			}
			f.set(dial, false)
			for range 5 {
				if err := call(s); !errors.Is(err, dial) {
					t.Fatalf("got %v", err)
				}
			}
			if err := call(s); !errors.Is(err, fallback.ErrAway) || f.asked.Load() != 6 {
				t.Errorf("%v; Redis was asked %d times", err, f.asked.Load())
			}
			if got := s.Release(ctx, nil); got != nil {
				t.Errorf("no effects became %v", got)
			}
		})
	}
}

// Whoever waits for a Redis that hangs goes on as soon as it is known.
func TestThoseWhoWaitLeaveWhenItOpens(t *testing.T) {
	f := &filter{hang: true}
	s := guard(f, nil)
	waiting := make(chan error)
	go func() { waiting <- deduct(context.Background(), s) }()
	for f.asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Breaker.Trip(dial)
	if err := <-waiting; !errors.Is(err, fallback.ErrAway) {
		t.Errorf("got %v", err)
	}
}

// An idle process finds out by its probes alone, and comes back by them: no
// shopper's order is a probe.
func TestProbesOpenItAndCloseIt(t *testing.T) {
	f := &filter{err: dial}
	s := guard(f, func(o *fallback.Options) {
		o.Every, o.Hasty, o.Open = time.Millisecond, time.Millisecond, 5*time.Millisecond
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.Breaker.Run(ctx); close(done) }()
	await(t, s.Breaker.Away)
	if err := deduct(t.Context(), s); !errors.Is(err, fallback.ErrAway) || errors.Is(err, dial) {
		t.Errorf("got %v", err)
	}
	f.set(nil, false)
	await(t, func() bool { return !s.Breaker.Away() })
	if err := deduct(t.Context(), s); err != nil {
		t.Errorf("got %v", err)
	}
	for round := range int64(3) { // again and again
		f.set(nil, true)
		s.Breaker.Trip(dial)
		await(t, func() bool { return s.Breaker.Opened() == 2+round })
		f.set(nil, false)
		await(t, func() bool { return !s.Breaker.Away() })
	}
	stop()
	<-done
}

func await(t *testing.T, what func() bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !what(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("it does not come about")
		}
	}
}

// ledger counts who comes the slow way; gate, when set, keeps them there.
type ledger struct {
	came atomic.Int64
	err  error
	gate chan struct{}
}

func (l *ledger) take() error {
	l.came.Add(1)
	if l.gate != nil {
		<-l.gate
	}
	return l.err
}
func (l *ledger) PlaceFallback(context.Context, order.Order, []order.Item) error { return l.take() }
func (l *ledger) AdmitFallback(context.Context, order.Order, []order.Item) error { return l.take() }
func (l *ledger) RetryFallback(_ context.Context, o order.Order, _ []order.Item) (order.Order, error) {
	o.Version++
	return o, l.take()
}

// fast is a way through Redis that takes a basket, and says what it is told to.
type fast struct {
	s   *fallback.Stock
	err error
}

func (f *fast) go1(ctx context.Context) error {
	if err := deduct(ctx, f.s); err != nil {
		return err
	}
	return f.err
}
func (f *fast) Place(ctx context.Context, _ order.Order, _ []order.Item) error { return f.go1(ctx) }
func (f *fast) Admit(ctx context.Context, _ order.Order, _ []order.Item) error { return f.go1(ctx) }
func (f *fast) Retry(ctx context.Context, o order.Order, _ []order.Item) (order.Order, error) {
	return o, f.go1(ctx)
}

func TestOrdersGoTheFastWayUntilItIsOpen(t *testing.T) {
	f, l := &filter{}, &ledger{}
	s := guard(f, nil)
	way := &fast{s: s}
	p := fallback.NewPlacer(way, l, s.Breaker, 1e6, 0)
	place := func() error { return p.Place(t.Context(), ann, nil) }
	check := func(want error, slow int64) {
		t.Helper()
		if err := place(); !errors.Is(err, want) || l.came.Load() != slow {
			t.Fatalf("got %v; %d came the slow way, want %d", err, l.came.Load(), slow)
		}
	}
	check(nil, 0)
	way.err = errors.New("the database is away") // no fault of Redis
	for range 10 {
		check(way.err, 0)
	}
	f.set(dial, false)
	for range 4 { // the outcome is unknown, as ever
		check(fallback.ErrAway, 0)
	}
	check(nil, 1) // its own try opened it: it goes on at once
	check(nil, 2)
	if err := p.Admit(t.Context(), ann, nil); err != nil || l.came.Load() != 3 {
		t.Errorf("%v, %d", err, l.came.Load())
	}
	if o, err := p.Retry(t.Context(), ann, nil); err != nil || o.Version != 2 || l.came.Load() != 4 {
		t.Errorf("%+v, %v", o, err)
	}
	l.err = &order.Refusal{Code: wire.CodeStockShort}
	check(l.err, 5)
	if p.Orders.Load() != 4 || f.asked.Load() != 16 {
		t.Errorf("%d orders; Redis was asked %d times", p.Orders.Load(), f.asked.Load())
	}
}

func TestTheSlowWayIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		rate     float64
		cabinets int
		most     int64
	}{
		"at one cabinet":    {1e6, 1, 4},
		"at all of them":    {1e6, 100, 64},
		"orders per second": {.001, 100, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{gate: make(chan struct{})}
			s := guard(&filter{err: dial}, nil)
			s.Breaker.Trip(dial)
			p := fallback.NewPlacer(&fast{s: s}, l, s.Breaker, c.rate, 0)
			placed := make(chan error, 200)
			for i := range cap(placed) {
				o := ann
				o.Cabinet = string(rune('A' + i%c.cabinets))
				go func() { placed <- p.Place(t.Context(), o, nil) }()
			}
			for range int64(cap(placed)) - c.most {
				var no *order.Refusal
				if err := <-placed; !errors.As(err, &no) || no.Code != wire.CodeOverloaded || no.RetryAfter < time.Second {
					t.Fatalf("got %v", err)
				}
			}
			close(l.gate)
			for range c.most {
				if err := <-placed; err != nil {
					t.Error(err)
				}
			}
			if p.Orders.Load() != c.most || p.Turned.Load() != int64(cap(placed))-c.most {
				t.Errorf("%d placed, %d sent away", p.Orders.Load(), p.Turned.Load())
			}
		})
	}
}
