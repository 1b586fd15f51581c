package agent

import (
	"context"
	"log/slog"
	"time"

	"vendline/edge/allowance"
	"vendline/edge/dispense"
	"vendline/edge/planogram"
	"vendline/edge/scan"
	"vendline/shared/wire"
)

// orders takes what the cloud tells a cabinet to the part that it is for.
type orders struct {
	shelf     *scan.Shelf
	journal   *dispense.Journal
	asker     *dispense.Asker
	allowance *allowance.Allowance
	planogram *planogram.Store
	mono      func() time.Duration
	log       *slog.Logger
}

// take stores what a command says before it returns. What could not be stored is
// told again: commands by the next answer, stock and slots when they change.
func (o orders) take(ctx context.Context, c wire.Command) {
	var err error
	switch c.Kind {
	case wire.CommandStock:
		o.shelf.Tell(c, o.mono())
		err = o.allowance.Grant(ctx, c.Stock, c.Counted)
	case wire.CommandWake:
		o.asker.Woken()
	case wire.CommandDispense:
		err = o.asker.Answer(ctx, c)
	case wire.CommandPlanogram:
		_, err = o.planogram.Take(ctx, c.Planogram)
	}
	if err != nil && ctx.Err() == nil {
		o.log.Error("a command of the cloud was not carried out", "kind", c.Kind, "err", err)
	}
}
