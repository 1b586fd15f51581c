package app

import (
	"context"
	"encoding/json"
	"time"

	"vendline/cloud/audit"
	"vendline/cloud/fleet"
)

// The books are audited once a day per fleet, whichever process comes first.
const (
	auditJob   = "audit"
	auditEvery = 24 * time.Hour
)

// startAudit audits the books at their time. Dies while it audits: the next is a
// day later, or on demand; what it found so far has its cases.
func (a *App) startAudit(context.Context) error {
	if a.Config.has(RoleReconcile) && a.Config.ReconcileEvery > 0 {
		a.start(func(ctx context.Context) {
			a.job(ctx, auditJob, auditEvery, min(a.Config.ReconcileEvery, time.Minute), "the books are not audited; ask for it, or wait a day", func(ctx context.Context) error {
				_, err := books{a}.Audit(ctx)
				return err
			})
		})
	}
	return nil
}

// books are audited for an operator.
type books struct{ *App }

func (b books) Audit(ctx context.Context) (audit.Findings, error) {
	began := b.Deps.Clock()
	f, err := audit.Run(ctx, b.Ledger, began)
	if err != nil {
		return f, err
	}
	level := b.Deps.Log.Info
	if len(f.Differences) > 0 {
		level = b.Deps.Log.Warn
	}
	level("books audited", "differences", len(f.Differences), "more", f.More, "days", len(f.Days), "took", b.Deps.Clock().Sub(began))
	body, err := json.Marshal(fleet.AuditOf(f))
	if err != nil {
		return f, err
	}
	return f, b.Ledger.EndJob(ctx, auditJob, body)
}

func (b books) LastAudit(ctx context.Context) (ended, due time.Time, report []byte, err error) {
	j, err := b.Ledger.FindJob(ctx, auditJob)
	return j.Ended, j.Due, j.Report, err
}

func (b books) Days(ctx context.Context, n int) ([]audit.Day, error) { return b.Ledger.Days(ctx, n) }
