package fleet

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"vendline/cloud/audit"
)

// Audits check the ledger's own books.
type Audits interface {
	// Audit looks now, and opens a case for each difference.
	Audit(ctx context.Context) (audit.Findings, error)
	// LastAudit tells when the last one ended, when the next is due, and what it
	// reported, as AuditOf wrote it; zero times are never.
	LastAudit(ctx context.Context) (ended, due time.Time, report []byte, err error)
	// Days returns up to n days' totals, newest first.
	Days(ctx context.Context, n int) ([]audit.Day, error)
}

// AuditReport is an audit as it is shown and kept.
type AuditReport struct {
	Differences []auditView `json:"differences"`
	More        bool        `json:"more"` // a rule found more than it names
}

type auditView struct {
	Rule    string `json:"rule"`
	Subject string `json:"subject"`
	Order   string `json:"order,omitempty"`
	Cabinet string `json:"cabinet,omitempty"`
	Detail  string `json:"detail"`
}

type dayView struct {
	Day      string `json:"day"` // UTC
	Currency string `json:"currency"`
	Orders   int64  `json:"orders"`
	Units    int64  `json:"units"`
	Consumed int64  `json:"consumed"`
	Captured int64  `json:"captured"` // minor units
	Refunded int64  `json:"refunded"`
}

// AuditOf is an audit in the page's terms.
func AuditOf(f audit.Findings) AuditReport {
	v := AuditReport{Differences: []auditView{}, More: f.More}
	for _, d := range f.Differences {
		v.Differences = append(v.Differences, auditView(d))
	}
	return v
}

func daysOf(days []audit.Day) []dayView {
	views := []dayView{}
	for _, d := range days {
		views = append(views, dayView{d.Day.UTC().Format(time.DateOnly), d.Currency, d.Orders, d.Units, d.Consumed, d.Captured, d.Refunded})
	}
	return views
}

// runAudit answers POST /v1/fleet/audit {}: it looks now, changes no stock and no
// money, and opens a case for each difference that has none.
func (f *Fleet) runAudit(w http.ResponseWriter, r *http.Request) {
	var b struct{}
	err := f.host.ReadJSON(w, r, &b)
	if err == nil && f.opt.Audits == nil {
		err = errNoStock
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // it takes as long as the books are long
	found, err := f.opt.Audits.Audit(r.Context())
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, struct {
		At int64 `json:"at"`
		AuditReport
		Days []dayView `json:"days"`
	}{f.opt.Clock().UnixMilli(), AuditOf(found), daysOf(found.Days)})
}

// readAudit answers GET /v1/fleet/audit?limit=100: the last audit, and the totals
// of days, newest first.
func (f *Fleet) readAudit(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r)
	if err == nil && f.opt.Audits == nil {
		err = errNoStock
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	days, err := f.opt.Audits.Days(r.Context(), limit)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	ended, due, report, err := f.opt.Audits.LastAudit(r.Context())
	var last *AuditReport
	if err == nil && len(report) > 0 {
		err = json.Unmarshal(report, &last)
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, struct {
		At    int64        `json:"at"`
		Ended *int64       `json:"last_audit_at"` // null: none yet
		Due   *int64       `json:"next_audit_at"`
		Last  *AuditReport `json:"last_audit"`
		Days  []dayView    `json:"days"`
	}{f.opt.Clock().UnixMilli(), known(ended), known(due), last, daysOf(days)})
}
