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
	// Bury keeps a row that cannot be read, or that Redis refuses for good.
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
		if err := r.carry(ctx, row, effects); err != nil {
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

// carry tries a row under fresh generations a few times; the poll goes on. A
// row that is refused again by a stock just rebuilt is nobody's to carry out.
func (r *Runner) carry(ctx context.Context, row outbox.Row, effects []Effect) error {
	var err error
	refused := false
	for range 6 {
		var runs []Ran
		var no *refusedError
		if runs, err = r.run(ctx, effects); err == nil {
			err = r.Ledger.FinishEffects(ctx, row.ID, runs)
		} else if errors.As(err, &no) {
			if refused {
				return r.bury(ctx, row, no)
			}
			refused, err = true, no.stale
		}
		var stale *StaleError
		if !errors.As(err, &stale) {
			return err
		}
		if err := r.renew(ctx, stale); err != nil {
			return err
		}
	}
	return err
}

// renew rebuilds the cabinets whose runs do not count.
func (r *Runner) renew(ctx context.Context, stale *StaleError) error {
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
	return nil
}

// refusedError says that Redis has the id of an effect for something else. Only
// a rebuild can tell what is right: it loads what the ledger says.
type refusedError struct {
	stale *StaleError
	why   error
}

func (e *refusedError) Error() string { return e.why.Error() }

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
	ran := make([]Ran, 0, len(effects))
	var results []Result
	if len(releases) > 0 {
		results = r.Stock.Release(ctx, releases)
		for i, res := range results {
			ran = append(ran, Ran{Cabinet: releases[i].Cabinet, ID: releases[i].ID, Run: res.Run})
		}
	}
	if len(adjusts) > 0 {
		adjusted := r.Stock.Adjust(ctx, adjusts)
		for i, res := range adjusted {
			ran = append(ran, Ran{Cabinet: adjusts[i].Cabinet, ID: adjusts[i].ID, Run: res.Run})
		}
		results = append(results, adjusted...)
	}
	return ran, judge(ran, results)
}

// judge is nil when every effect was carried out.
func judge(ran []Ran, results []Result) error {
	stale := &StaleError{}
	var why error
	for i, res := range results {
		var no *order.Refusal
		switch {
		case res.Err == nil:
		case errors.Is(res.Err, order.ErrNotLoaded):
			stale.Cabinets = append(stale.Cabinets, ran[i].Cabinet)
		case errors.As(res.Err, &no):
			why = res.Err
			stale.Cabinets = append(stale.Cabinets, ran[i].Cabinet)
			stale.Doubled = append(stale.Doubled, ran[i])
		default:
			return res.Err
		}
	}
	switch {
	case why != nil:
		return &refusedError{stale, why}
	case len(stale.Cabinets) > 0:
		return stale
	}
	return nil
}
