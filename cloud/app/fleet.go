package app

import (
	"context"
	"errors"

	"vendline/cloud/api"
	"vendline/cloud/fleet"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/payment"
	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

// openFleet mounts the operator's page and its reads.
func (a *App) openFleet(server *api.Server) error {
	opt := fleet.Options{
		Ledger: fleetLedger{a.Ledger}, Desk: fleetLedger{a.Ledger}, Planograms: fleetLedger{a.Ledger}, Presences: a.presences, Tap: a.Watcher.Tap,
		Placed: a.Ledger.Counters().Orders.Load, Clock: a.Deps.Clock, Log: a.Deps.Log,
	}
	if a.Stock != nil {
		opt.Live, opt.Rebuild, opt.Reconciliation = a.slow.stock, a.Fence.Rebuild, reconciliation{a}
	}
	opt.Alerts, opt.Audits, opt.Groups = fleetAlerts{a}, books{a}, a.Ledger
	if a.queue != nil && a.Config.has(RoleConsumer) {
		opt.Depth = a.depth
	}
	f, err := fleet.New(opt)
	if err != nil {
		return err
	}
	a.onClose(f.Close)
	f.Mount(server)
	return nil
}

// connection tells how a cabinet is doing, as far as its messages tell.
func (a *App) connection(cabinet string) api.Connection {
	c, ok := a.presence.Get(cabinet, a.Deps.Clock())
	if !ok {
		return api.Unknown
	}
	return api.Connection(c.Health)
}

func (a *App) presences() []fleet.Presence {
	all := a.presence.All(a.Deps.Clock())
	out := make([]fleet.Presence, len(all))
	for i, c := range all {
		out[i] = fleet.Presence{
			Cabinet: c.ID, Status: string(c.Health), Seen: c.Seen, Depth: c.Depth, Parked: c.Parked,
			Skew: c.Skew, Skewed: c.Skewed, Gap: c.Gap, Agent: c.Agent,
		}
	}
	return out
}

// fleetLedger shows the ledger in the page's own terms.
type fleetLedger struct{ *ledger.Ledger }

func (l fleetLedger) Shelves(ctx context.Context, cabinet string) ([]fleet.Shelf, error) {
	rows, err := l.Stock(ctx, cabinet)
	out := make([]fleet.Shelf, len(rows))
	for i, r := range rows {
		out[i] = fleet.Shelf(r)
	}
	return out, err
}

func (l fleetLedger) SetPlanogram(ctx context.Context, cabinet string, slots []wire.Slot, base *int64) (int64, bool, error) {
	return (&planogram.Service{Ledger: l.Ledger}).Set(ctx, cabinet, slots, base)
}

func (l fleetLedger) RetryRefund(ctx context.Context, id string) (bool, error) {
	r, err := l.Return(ctx, id)
	if errors.Is(err, payment.ErrUnknown) {
		return false, &order.Refusal{Code: wire.CodeNotFound, Detail: "no refund has this id"}
	}
	if err != nil || r.Status != payment.ReturnStuck {
		return false, err
	}
	return true, l.Ledger.RetryRefund(ctx, id)
}

func (l fleetLedger) CloseCase(ctx context.Context, id, note string) error {
	err := l.Ledger.CloseCase(ctx, id, note)
	if errors.Is(err, ledger.ErrNoCase) {
		return &order.Refusal{Code: wire.CodeNotFound, Detail: "no case has this id"}
	}
	return err
}
