package orphan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/statement"
)

// Stock lists the holds that Redis waits to hear about.
type Stock interface {
	Held(ctx context.Context, cabinet string, olderThan time.Duration) ([]Hold, error)
	Settle(ctx context.Context, known []statement.Settled) error
}

// Ledger decides about a hold.
type Ledger interface {
	Cabinets(ctx context.Context) ([]string, error)
	SettleOrphan(ctx context.Context, h Hold) (Outcome, error)
}

// Sweeper settles orphans.
type Sweeper struct {
	Stock  Stock
	Ledger Ledger
	Fence  order.Fence
	Grace  time.Duration // older than any placement that may still be alive; 0 means 30 s
	Every  time.Duration // 0 means 10 s
	// Waiting names those of many cabinets that have holds older than the grace,
	// at the cost of a few round trips for all; nil: each is asked for its own.
	Waiting func(ctx context.Context, cabinets []string, olderThan time.Duration) ([]string, error)
	Rest    func() bool // while true nobody sweeps: Redis is known to be away; nil: never
	Log     *slog.Logger
}

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	every := s.Every
	if every <= 0 {
		every = 10 * time.Second
	}
	for {
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
		if s.Rest != nil && s.Rest() {
			continue
		}
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("orphan sweep failed; the next one goes on", "error", err)
		}
	}
}

// Sweep looks at every cabinet once; one that fails keeps none of the others.
func (s *Sweeper) Sweep(ctx context.Context) error {
	cabinets, err := s.Ledger.Cabinets(ctx)
	if err != nil {
		return err
	}
	if s.Waiting != nil {
		if cabinets, err = s.Waiting(ctx, cabinets, s.grace()); err != nil {
			return err
		}
	}
	var errs []error
	for _, c := range cabinets {
		if err := s.Cabinet(ctx, c); err != nil {
			errs = append(errs, fmt.Errorf("cabinet %s: %w", c, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// Cabinet settles the orphans of one cabinet: in MySQL first, then, through the
// outbox, in Redis.
func (s *Sweeper) Cabinet(ctx context.Context, cabinet string) error {
	holds, err := s.Stock.Held(ctx, cabinet, s.grace())
	if errors.Is(err, order.ErrNotLoaded) {
		return nil // nothing is held in a stock that is not loaded
	}
	if err != nil {
		return err
	}
	var known []statement.Settled
	var errs []error
	for _, h := range holds {
		outcome, err := s.Ledger.SettleOrphan(ctx, h)
		switch {
		case errors.Is(err, order.ErrDoubled):
			if err := s.Fence.Draw(ctx, cabinet, h.Run.Generation); err != nil {
				return err
			}
			return s.Fence.Rebuild(ctx, cabinet)
		case errors.Is(err, order.ErrStale):
			return s.Fence.Rebuild(ctx, cabinet)
		case err != nil:
			errs = append(errs, err) // the others may be settled all the same
		case outcome == Known:
			known = append(known, statement.Settled{Cabinet: cabinet, ID: h.ID, Version: h.Version})
		case outcome == Settled:
			s.Log.Info("hold settled that no placement finished", "cabinet", cabinet, "id", h.ID)
		}
	}
	if len(known) > 0 {
		errs = append(errs, s.Stock.Settle(ctx, known))
	}
	return errors.Join(errs...)
}

func (s *Sweeper) grace() time.Duration {
	if s.Grace <= 0 {
		return 30 * time.Second
	}
	return s.Grace
}
