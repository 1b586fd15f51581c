package fence

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Masters asks every master that serves now to describe itself.
type Masters interface {
	Masters(ctx context.Context) ([]Server, error)
}

// Watch asks the masters all the time: for one that was promoted under
// connections which were there before, and for one that drops keys. Redis being
// away is no reason to fence: it is met again when it is back.
type Watch struct {
	Masters Masters
	Gate    *Gate
	Every   time.Duration // 0 means 250 ms
	Clock   func() time.Time
	Log     *slog.Logger

	mu    sync.Mutex
	away  error
	since time.Time
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	every := w.Every
	if every <= 0 {
		every = 250 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		w.Look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Look asks once.
func (w *Watch) Look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	servers, err := w.Masters.Masters(ctx)
	for _, s := range servers { // some may answer though others do not
		if e := w.Gate.Enter(ctx, s); e != nil && err == nil {
			err = e
		}
	}
	if ctx.Err() != nil && err != nil && context.Cause(ctx) == context.Canceled {
		return // we are told to stop
	}
	w.set(err)
}

func (w *Watch) set(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if (err == nil) == (w.away == nil) && !w.since.IsZero() {
		w.away = err
		return
	}
	first := w.since.IsZero()
	w.away, w.since = err, w.Clock()
	switch {
	case err != nil:
		w.Log.Warn("Redis does not answer, or not in full", "error", err)
	case !first:
		w.Log.Info("Redis answers again")
	}
}

// Away is why Redis cannot be used, nil when it can; since is when that began.
func (w *Watch) Away() (since time.Time, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.since, w.away
}
