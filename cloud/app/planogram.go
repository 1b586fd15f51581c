package app

import (
	"context"
	"time"

	"vendline/cloud/outbox"
	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

// Planogram implements planogram.Publisher.
func (w *wakes) Planogram(cabinet string, p wire.Planogram) {
	if in := w.intake.Load(); in != nil {
		in.Planogram(cabinet, p)
	}
}

// startPlanograms tells cabinets their planograms, in both modes. Only who can
// speak to cabinets does.
func (a *App) startPlanograms(context.Context) error {
	if !a.Config.has(RoleIntake) {
		return nil
	}
	r := &planogram.Runner{Ledger: a.Ledger, Publisher: &a.wakes}
	a.carry(&outbox.Runner{Kind: outbox.KindPlanogram, Carry: r.Carry, Lease: planogram.Lease, Longest: planogram.Longest, Poll: time.Second})
	return nil
}

// newest is what cabinets that come up are told to work by.
type newest struct{ *App }

// NewestPlanogram implements intake.Planograms.
func (n newest) NewestPlanogram(ctx context.Context, cabinet string) (*wire.Planogram, error) {
	known, err := n.Ledger.Planograms(ctx, cabinet)
	s, ok := known[cabinet]
	if err != nil || !ok {
		return nil, err
	}
	return &s.Planogram, nil
}
