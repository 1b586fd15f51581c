package fence

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Current tells every cabinet's generation as the ledger has it.
type Current interface {
	Generations(ctx context.Context) (map[string]string, error)
}

// Loaded tells under which generation cabinets are loaded in Redis; one that is
// not loaded is missing.
type Loaded interface {
	Generations(ctx context.Context, cabinets []string) (map[string]string, error)
}

// Pass rebuilds in the background what nobody has touched since it was fenced.
type Pass struct {
	Ledger   Current
	Stock    Loaded
	Rebuild  func(ctx context.Context, cabinet string) error
	Every    time.Duration // between looks; 0 means 15 s
	Parallel int           // cabinets at once; 0 means 4
	Log      *slog.Logger

	once  sync.Once
	kick  chan struct{}
	stale atomic.Int64
}

// Kick asks for a look now.
func (p *Pass) Kick() {
	select {
	case p.woken() <- struct{}{}:
	default:
	}
}

func (p *Pass) woken() chan struct{} {
	p.once.Do(func() { p.kick = make(chan struct{}, 1) })
	return p.kick
}

// Stale is how many cabinets the last look found to be rebuilt, less those that are.
func (p *Pass) Stale() int64 { return p.stale.Load() }

// Run looks and rebuilds until ctx ends.
func (p *Pass) Run(ctx context.Context) {
	every := p.Every
	if every <= 0 {
		every = 15 * time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.woken():
		case <-ctx.Done():
			return
		}
		if err := p.Once(ctx); err != nil && ctx.Err() == nil {
			p.Log.Debug("stale stock is not rebuilt yet", "error", err)
		}
	}
}

// mostFailed is how many cabinets may fail in one pass.
const mostFailed = 8

// Once rebuilds every cabinet that Redis does not carry under the ledger's
// generation. Each worker rests as long as it worked, so that orders, which
// rebuild what they touch themselves, have the machine for themselves half of
// the time. A cabinet that cannot be rebuilt keeps none of the others, but after a
// few it ends: what stops so many stops all.
func (p *Pass) Once(ctx context.Context) error {
	current, err := p.Ledger.Generations(ctx)
	if err != nil {
		return fmt.Errorf("read the ledger's generations: %w", err)
	}
	loaded, err := p.Stock.Generations(ctx, slices.Sorted(maps.Keys(current)))
	if err != nil {
		return fmt.Errorf("read Redis' generations: %w", err)
	}
	maps.DeleteFunc(current, func(c, g string) bool { return loaded[c] == g })
	p.stale.Store(int64(len(current)))
	if len(current) == 0 {
		return nil
	}
	began := time.Now()
	next := make(chan string)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	var failed atomic.Int64
	parallel := p.Parallel
	if parallel <= 0 {
		parallel = 4
	}
	for range min(parallel, len(current)) {
		workers.Go(func() {
			for c := range next {
				at := time.Now()
				if err := p.Rebuild(ctx, c); err == nil {
					p.stale.Add(-1)
				} else if failed.Add(1) > mostFailed {
					stop(err)
					return
				} else {
					p.Log.Warn("a cabinet's stale stock is not rebuilt; that is tried again", "cabinet", c, "error", err)
				}
				select {
				case <-time.After(time.Since(at)):
				case <-ctx.Done():
				}
			}
		})
	}
feeding:
	for _, c := range slices.Sorted(maps.Keys(current)) {
		select {
		case next <- c:
		case <-ctx.Done():
			break feeding
		}
	}
	close(next)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	p.Log.Info("stale stock rebuilt in the background", "cabinets", int64(len(current))-failed.Load(), "took", time.Since(began))
	return nil
}
