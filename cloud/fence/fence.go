// Package fence decides when a cabinet's Redis stock may be believed. Redis is
// an admission filter that can be thrown away: it carries the generation it was
// loaded under, MySQL holds the current one, and an effect counts only under
// the current one. Drawing a new token makes Redis stale at once; Rebuild loads
// it again from one consistent snapshot.
package fence

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/singleflight"

	"vendline/shared/wire"
)

// Snapshot is all that Redis needs to know of a cabinet, as of one instant of
// the ledger, taken while the cabinet's row is locked against placements.
type Snapshot struct {
	Cabinet    string
	Generation string           // "<cabinet token>.<fleet token>" to load under
	Sellable   map[string]int64 // SKU → available plus what the deduct log has not seen
	Marks      []Mark           // orders of the last 24 h, and older ones the log has not seen
	Done       []string         // facts whose Redis effect is still pending: Sellable counts them
	At         int64            // ledger's clock, Unix ms
}

// Mark is an order's marker: it makes replays and late releases harmless.
type Mark struct {
	ID      string
	Held    bool // in force; false is released
	Version int64
	User    string
	Lines   []wire.Line
	Unknown bool  // the deduct log does not know this version yet: it goes to resv
	At      int64 // when the order was placed, Unix ms: for the purchase limit's day
	Limited bool  // counts towards its user's purchase limit (placed within 24 h and in force)
}

// Stock is the part of Redis that a rebuild writes.
type Stock interface {
	// Generation returns what the cabinet's stock is loaded under, "" if it is not loaded.
	Generation(ctx context.Context, cabinet string) (string, error)
	// Load replaces the cabinet's stock. Until it returns, the cabinet is fenced;
	// a crash in its midst leaves it fenced.
	Load(ctx context.Context, s Snapshot) error
}

// Ledger gives snapshots under the cabinet's lock.
type Ledger interface {
	// Rebuild takes the cabinet's row exclusively, asks current whether Redis
	// already carries the row's generation (then it does nothing), else draws a
	// token, reads a snapshot opened after the lock, calls load and, if load
	// succeeds, commits the token.
	Rebuild(ctx context.Context, cabinet string,
		current func(ctx context.Context, generation string) (bool, error),
		load func(ctx context.Context, s Snapshot) error) error
	// Draw replaces the cabinet's token if generation is the current one.
	Draw(ctx context.Context, cabinet, generation string) error
}

// Fence rebuilds cabinets, one rebuild per cabinet at a time in this process;
// the row lock does the same between processes.
type Fence struct {
	Ledger Ledger
	Stock  Stock
	Log    *slog.Logger
	shared singleflight.Group
}

// Rebuild makes Redis agree with the ledger, unless it already does.
//
// Dies before the load: Redis is as it was, the old token stands. Dies after
// the load and before the commit: Redis carries a token that MySQL never heard
// of, so nothing that runs under it counts and the next touch rebuilds again.
// That is why the token is random per attempt and not a counter.
//
// Callers who come at once share one rebuild. It is not any one caller's: it
// goes on when the first of them gives up, for at most flight.
func (f *Fence) Rebuild(ctx context.Context, cabinet string) error {
	shared := f.shared.DoChan(cabinet, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flight)
		defer cancel()
		return nil, f.rebuild(ctx, cabinet)
	})
	select {
	case r := <-shared:
		if r.Err != nil {
			return fmt.Errorf("rebuild %s: %w", cabinet, r.Err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("rebuild %s: %w", cabinet, ctx.Err())
	}
}

// flight bounds one shared rebuild.
const flight = 30 * time.Second

func (f *Fence) rebuild(ctx context.Context, cabinet string) error {
	// Redis is touched before the cabinet is locked: should a new server answer, it
	// is met now (see Gate), which needs the locks that we are about to hold.
	if _, err := f.Stock.Generation(ctx, cabinet); err != nil {
		return err
	}
	loaded := false
	err := f.Ledger.Rebuild(ctx, cabinet,
		func(ctx context.Context, generation string) (bool, error) {
			have, err := f.Stock.Generation(ctx, cabinet)
			return have == generation, err
		},
		func(ctx context.Context, s Snapshot) error {
			loaded = true
			return f.Stock.Load(ctx, s)
		})
	if err == nil && loaded {
		f.Log.Info("stock rebuilt", "cabinet", cabinet)
	}
	return err
}

// Draw makes generation stale if it is current. Whatever ran under it and has
// not committed yet will be refused, and the next touch rebuilds.
func (f *Fence) Draw(ctx context.Context, cabinet, generation string) error {
	f.Log.Warn("stock fenced: Redis went back in time", "cabinet", cabinet, "generation", generation)
	return f.Ledger.Draw(ctx, cabinet, generation)
}
