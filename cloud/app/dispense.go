package app

import (
	"context"
	"sync/atomic"
	"time"

	"vendline/cloud/dispense"
	"vendline/cloud/intake"
	"vendline/cloud/outbox"
)

// wakes speaks to cabinets through this process's intake, once it has one.
type wakes struct{ intake atomic.Pointer[intake.Intake] }

// Wake implements dispense.Publisher.
func (w *wakes) Wake(cabinet string) {
	if in := w.intake.Load(); in != nil {
		in.Wake(cabinet)
	}
}

// startDispensing carries out command rows, in both modes: of this process's own
// commits at once, and of all others' as their leases end. Only who can speak to
// cabinets does.
func (a *App) startDispensing(context.Context) error {
	if !a.Config.has(RoleIntake) {
		return nil
	}
	r := dispense.New(dispense.Options{Ledger: a.Ledger, Publisher: &a.wakes, Clock: a.Deps.Clock})
	a.carry(&outbox.Runner{Kind: outbox.KindCommand, Carry: r.Carry, Lease: dispense.Lease, Longest: dispense.Longest, Workers: 2, Poll: time.Second})
	return nil
}
