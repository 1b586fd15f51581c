package app

import (
	"context"
	"time"
)

// job does run once per fleet in each interval: of the processes that play the
// role, one takes it. It looks often whether it is due, so that the fleet's
// interval is kept when the process that did it last is gone.
func (a *App) job(ctx context.Context, name string, every, look time.Duration, missed string, run func(context.Context) error) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		mine, err := a.Ledger.TakeJob(ctx, name, a.Deps.Clock().Add(every))
		if err == nil && mine {
			err = run(ctx)
		}
		if err != nil && ctx.Err() == nil {
			a.Deps.Log.Warn(missed, "error", err)
		}
	}
}
