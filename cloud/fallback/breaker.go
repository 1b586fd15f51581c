// Package fallback sells on while Redis is away. A circuit breaker watches every
// call to the stock filter; while it is open, orders are admitted by the ledger
// alone, under the cabinet row's lock, at a bounded rate.
//
// Files: breaker.go decides, stock.go is the stock filter as the breaker lets it
// be reached, placer.go goes one way or the other, rate.go bounds the slow one.
package fallback

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"vendline/cloud/order"
	"vendline/shared/group"
)

// ErrAway says that the stock filter did not answer, or is not asked while it is
// away. What became of the call, if it was made, is unknown.
var ErrAway = errors.New("fallback: the stock filter is away")

// Options of a Breaker. Probe is required; the others have defaults.
type Options struct {
	// Probe makes the stock filter write something: one that answers and does not
	// take writes (no disk, no memory, a replica) is away.
	Probe func(ctx context.Context) error
	// Answered tells of further errors that the stock filter is there and said no.
	Answered func(err error) bool

	Failures int           // in a row, that open it; 0 means 5
	Open     time.Duration // how long it stays open before it is probed; 0 means 1 s
	Probes   int           // successful ones in a row that close it; 0 means 3
	Every    time.Duration // between probes while all is well; 0 means 1 s
	Hasty    time.Duration // … and while it is not; 0 means 100 ms
	Patience time.Duration // with one probe; 0 means 500 ms
	Log      *slog.Logger
}

// Breaker knows whether the stock filter is away. Safe for concurrent use.
//
// It opens when calls fail in a row: deadline, dial, read, or an answer that is
// none. It closes by probes alone, never by a shopper's order.
type Breaker struct {
	opt   Options
	b     *gobreaker.CircuitBreaker[struct{}]
	worry chan struct{} // something failed: probe soon

	mu    sync.Mutex
	era   context.Context // ends when the breaker opens: whoever waits for an answer then leaves
	close context.CancelCauseFunc
	since time.Time // of the last change

	opened atomic.Int64
}

// NewBreaker returns a closed breaker. Run must be called for it to close again.
func NewBreaker(opt Options) *Breaker {
	if opt.Failures <= 0 {
		opt.Failures = 5
	}
	if opt.Open <= 0 {
		opt.Open = time.Second
	}
	if opt.Probes <= 0 {
		opt.Probes = 3
	}
	if opt.Every <= 0 {
		opt.Every = time.Second
	}
	if opt.Hasty <= 0 {
		opt.Hasty = 100 * time.Millisecond
	}
	if opt.Patience <= 0 {
		opt.Patience = 500 * time.Millisecond
	}
	if opt.Answered == nil {
		opt.Answered = func(error) bool { return false }
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	k := &Breaker{opt: opt, worry: make(chan struct{}, 1)}
	k.era, k.close = context.WithCancelCause(context.Background())
	k.b = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:   uint32(opt.Probes),
		Timeout:       opt.Open,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= uint32(opt.Failures) },
		OnStateChange: k.changed,
		IsSuccessful:  func(err error) bool { return err == nil || k.answered(err) },
		IsExcluded:    excluded,
	})
	return k
}

// Away reports whether orders go by the ledger: the breaker is open, or being
// probed.
func (k *Breaker) Away() bool { return k.b.State() != gobreaker.StateClosed }

// State is "closed", "half-open" or "open"; since is when that began, zero if it
// never was another.
func (k *Breaker) State() (state string, since time.Time) {
	state = k.b.State().String()
	k.mu.Lock()
	defer k.mu.Unlock()
	return state, k.since
}

// Opened is how often it has opened.
func (k *Breaker) Opened() int64 { return k.opened.Load() }

// Call makes one call to the stock filter, unless it is away. A call that gets
// no answer is ErrAway. When the breaker opens meanwhile, ctx ends.
func (k *Breaker) Call(ctx context.Context, call func(ctx context.Context) error) error {
	if k.Away() {
		return ErrAway
	}
	return k.call(ctx, call)
}

func (k *Breaker) call(ctx context.Context, call func(ctx context.Context) error) error {
	k.mu.Lock()
	era := k.era
	k.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(era, func() { cancel(ErrAway) })
	defer stop()
	_, err := k.b.Execute(func() (struct{}, error) {
		err := call(ctx)
		if err != nil && context.Cause(ctx) == ErrAway && !k.answered(err) {
			err = fmt.Errorf("%w: %w", ErrAway, err) // known already: others failed first
		}
		return struct{}{}, err
	})
	if err == nil || k.answered(err) || errors.Is(err, ErrAway) || gone(err) {
		return err
	}
	select {
	case k.worry <- struct{}{}:
	default:
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// answered reports whether the stock filter is there and said no.
func (k *Breaker) answered(err error) bool {
	var refused *order.Refusal
	return errors.As(err, &refused) || errors.Is(err, order.ErrNotLoaded) || k.opt.Answered(err)
}

// gone reports whether a call ended for its caller's sake, who went away or is
// about to stop.
func gone(err error) bool { return errors.Is(err, context.Canceled) || errors.Is(err, group.ErrClosed) }

func excluded(err error) bool { return gone(err) || errors.Is(err, ErrAway) }

// changed is called under the breaker's lock.
func (k *Breaker) changed(_ string, from, to gobreaker.State) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case to == gobreaker.StateOpen && from == gobreaker.StateClosed:
		k.opened.Add(1)
		k.since = time.Now()
		k.close(ErrAway)
		k.opt.Log.Warn("Redis is away: orders go by the ledger")
	case to == gobreaker.StateClosed:
		k.era, k.close = context.WithCancelCause(context.Background())
		k.opt.Log.Info("Redis is back: orders go by Redis again", "away", time.Since(k.since).Round(time.Millisecond))
		k.since = time.Now()
	}
}

// Trip opens the breaker, for a start that found nobody.
func (k *Breaker) Trip(why error) {
	for range k.opt.Failures {
		_, _ = k.b.Execute(func() (struct{}, error) { return struct{}{}, fmt.Errorf("no answer at the start: %w", why) })
	}
}

// Run probes until ctx ends: now and then while all is well, so that an idle
// process knows too, and often while it is not.
func (k *Breaker) Run(ctx context.Context) {
	every := k.opt.Every
	for {
		t := time.NewTimer(every)
		select {
		case <-t.C:
		case <-k.worry:
			t.Stop()
		case <-ctx.Done():
			t.Stop()
			return
		}
		every = k.opt.Every
		if err := k.probe(ctx); err != nil || k.Away() {
			every = k.opt.Hasty
		}
	}
}

// probe asks once. It goes past Call, which lets nobody through while the
// breaker is half-open: probes are how it closes. While it is open, the breaker
// itself lets none through.
func (k *Breaker) probe(ctx context.Context) error {
	_, err := k.b.Execute(func() (struct{}, error) {
		ctx, cancel := context.WithTimeout(ctx, k.opt.Patience)
		defer cancel()
		return struct{}{}, k.opt.Probe(ctx)
	})
	return err
}
