package effect

import (
	"context"
	"errors"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// Stock carries effects out on Redis, one result each, in order.
type Stock interface {
	Release(ctx context.Context, rs []Release) []Result
	Adjust(ctx context.Context, as []Adjust) []Result
}

// Ledger makes effects count.
type Ledger interface {
	// FinishEffects deletes the row in a transaction that finds every run's
	// generation current and its ticket its own; else *StaleError.
	FinishEffects(ctx context.Context, row string, runs []Ran) error
	// Bury keeps a row that cannot be read.
	Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
	Delete(ctx context.Context, ids ...string) error
}

// Runner is the carrier of Redis rows.
type Runner struct {
	Stock  Stock
	Ledger Ledger
	Fence  order.Fence
}

// Carry runs each row's effects on Redis, then makes them count.
//
// Dies after Redis and before the commit: the row runs again under the same ids
// and versions, and the scripts change nothing. A row that ran under a stale
// generation runs again after the rebuild.
func (r *Runner) Carry(ctx context.Context, rows []outbox.Row) error {
	var failed error
	for _, row := range rows {
		effects, err := Decode(row.Payload)
		if err != nil {
			if err := r.bury(ctx, row, err); err != nil {
				failed = err
			}
			continue
		}
		if err := r.carry(ctx, row.ID, effects); err != nil {
			failed = fmt.Errorf("effect: row %s: %w", row.ID, err)
		}
	}
	return failed
}

func (r *Runner) bury(ctx context.Context, row outbox.Row, why error) error {
	if err := r.Ledger.Bury(ctx, "effect", why.Error(), row.Payload, map[string]string{"row": row.ID}); err != nil {
		return err
	}
	return r.Ledger.Delete(ctx, row.ID)
}

// carry tries a row under fresh generations a few times; the poll goes on.
func (r *Runner) carry(ctx context.Context, row string, effects []Effect) error {
	var err error
	for range 6 {
		var runs []Ran
		if runs, err = r.run(ctx, effects); err == nil {
			err = r.Ledger.FinishEffects(ctx, row, runs)
		}
		var stale *StaleError
		if !errors.As(err, &stale) {
			return err
		}
		for _, d := range stale.Doubled {
			if err := r.Fence.Draw(ctx, d.Cabinet, d.Run.Generation); err != nil {
				return err
			}
		}
		for _, c := range stale.Cabinets {
			if err := r.Fence.Rebuild(ctx, c); err != nil {
				return err
			}
		}
	}
	return err
}

// run sends all effects to Redis in at most two pipelines.
func (r *Runner) run(ctx context.Context, effects []Effect) ([]Ran, error) {
	var releases []Release
	var adjusts []Adjust
	for _, e := range effects {
		if e.Release != nil {
			releases = append(releases, *e.Release)
		} else {
			adjusts = append(adjusts, *e.Adjust)
		}
	}
	runs := make([]Ran, 0, len(effects))
	stale := &StaleError{}
	take := func(cabinet, id string, res Result) error {
		var refused *order.Refusal
		switch {
		case errors.Is(res.Err, order.ErrNotLoaded):
			stale.Cabinets = append(stale.Cabinets, cabinet)
		case errors.As(res.Err, &refused):
			// The id means something else in Redis: only a rebuild can tell what
			// is right, and it loads what the ledger says.
			stale.Cabinets = append(stale.Cabinets, cabinet)
			stale.Doubled = append(stale.Doubled, Ran{Cabinet: cabinet, ID: id, Run: res.Run})
		case res.Err != nil:
			return res.Err
		default:
			runs = append(runs, Ran{Cabinet: cabinet, ID: id, Run: res.Run})
		}
		return nil
	}
	for i, res := range r.Stock.Release(ctx, releases) {
		if err := take(releases[i].Cabinet, releases[i].ID, res); err != nil {
			return nil, err
		}
	}
	for i, res := range r.Stock.Adjust(ctx, adjusts) {
		if err := take(adjusts[i].Cabinet, adjusts[i].ID, res); err != nil {
			return nil, err
		}
	}
	if len(stale.Cabinets) > 0 {
		return nil, stale
	}
	return runs, nil
}
