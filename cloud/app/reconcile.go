package app

import (
	"context"
	"encoding/json"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vendline/cloud/fleet"
	"vendline/cloud/reconcile"
)

// roundJob is the fleet's job of comparing all cabinets.
const roundJob = "reconcile"

// startReconcile compares all cabinets at intervals, once per fleet.
func (a *App) startReconcile(context.Context) error {
	if a.Config.Mode == ModeSync {
		return nil
	}
	a.reconciler = &reconcile.Reconciler{Stock: a.Stock, Ledger: a.Ledger, Rebuild: a.Fence.Rebuild, ID: a.Deps.ID, Token: a.Deps.Token, Clock: a.Deps.Clock, Log: a.Deps.Log}
	if a.Config.has(RoleReconcile) && a.Config.ReconcileEvery > 0 {
		every := a.Config.ReconcileEvery
		a.start(func(ctx context.Context) {
			a.job(ctx, roundJob, every, min(every, 5*time.Second), "no round of reconciliation; the next one is at its time", a.round)
		})
	}
	return nil
}

func (a *App) round(ctx context.Context) error {
	cabinets, err := a.Ledger.Cabinets(ctx)
	if err != nil {
		return err
	}
	rep, err := a.reconciler.Round(ctx, cabinets, false, nil)
	if err != nil {
		return err
	}
	a.reconciler.Counters.Rounds.Add(1)
	a.reconciler.Counters.LastFull.Store(a.Deps.Clock().UnixMilli())
	if rep.Findings+rep.Failed > 0 {
		a.Deps.Log.Warn("reconciled", "report", rep)
	}
	body, err := json.Marshal(fleet.ReportOf(rep))
	if err != nil {
		return err
	}
	return a.Ledger.EndJob(ctx, roundJob, body)
}

// reconciliation is what the operator's page sees of it.
type reconciliation struct{ *App }

func (r reconciliation) Round(ctx context.Context, cabinets []string, dry bool, each func(reconcile.Outcome)) (reconcile.Report, error) {
	return r.reconciler.Round(ctx, cabinets, dry, each)
}

func (r reconciliation) Findings(ctx context.Context, since time.Time, n int) ([]reconcile.Finding, error) {
	return r.Ledger.Findings(ctx, since, n)
}

func (r reconciliation) LastRound(ctx context.Context) (ended, due time.Time, report []byte, err error) {
	j, err := r.Ledger.FindJob(ctx, roundJob)
	return j.Ended, j.Due, j.Report, err
}

// registerReconcile exposes what this process compared.
func (a *App) registerReconcile(reg prometheus.Registerer) {
	if a.reconciler == nil {
		return
	}
	c := &a.reconciler.Counters
	for _, m := range []struct {
		name, help string
		value      func() int64
	}{
		{"rounds", "Rounds over all cabinets that this process did.", c.Rounds.Load},
		{"compared", "Cabinets compared with the ledger.", c.Compared.Load},
		{"findings", "Cabinets whose stock in Redis differed from the ledger.", c.Findings.Load},
		{"repairs", "Differences repaired.", c.Repaired.Load},
		{"failures", "Cabinets that could not be compared.", c.Failed.Load},
	} {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "vendline_reconcile_" + m.name + "_total", Help: m.help}, func() float64 { return float64(m.value()) }))
	}
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "vendline_reconcile_last_round_seconds", Help: "When the last round over all cabinets by this process ended, Unix time; 0 is never."},
		func() float64 { return float64(c.LastFull.Load()) / 1000 }))
}
