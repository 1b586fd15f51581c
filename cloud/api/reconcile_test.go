package api

import (
	"context"
	"time"

	"vendline/cloud/fence"
	"vendline/cloud/reconcile"
)

// compared found one difference in its last round.
type compared struct{}

func (compared) Round(_ context.Context, cabinets []string, _ bool, each func(reconcile.Outcome)) (reconcile.Report, error) {
	for _, c := range cabinets {
		each(reconcile.Outcome{Cabinet: c, Result: reconcile.Equal})
	}
	return reconcile.Report{Cabinets: len(cabinets), Equal: len(cabinets)}, nil
}

func (compared) Findings(context.Context, time.Time, int) ([]reconcile.Finding, error) {
	return []reconcile.Finding{{ID: known, Cabinet: "C001", State: reconcile.Repaired, At: time.Now(), Lines: []reconcile.Difference{{SKU: "cola", Expected: 3, Found: 5}}}}, nil
}

func (compared) LastRound(context.Context) (ended, due time.Time, report []byte, err error) {
	return time.Now(), time.Time{}, []byte(`{"cabinets":1,"equal":0,"not_loaded":0,"stale":0,"failed":0,"frozen":0,"findings":1,"repaired":1,"units":2,"took_ms":3}`), nil
}

func (scripted) Incidents(context.Context, time.Time, int) ([]fence.Incident, error) {
	return []fence.Incident{{ID: known, At: time.Now(), Reason: fence.Unmet, Place: "redis:6379", Cabinets: 2}}, nil
}
