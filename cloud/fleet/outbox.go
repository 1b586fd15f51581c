package fleet

import (
	"net/http"

	"vendline/cloud/outbox"
)

type kindView struct {
	Kind     string `json:"kind"`
	Depth    int64  `json:"depth"`
	OldestMS int64  `json:"oldest_ms"`
	Stuck    int64  `json:"stuck"`
	Attempts int    `json:"attempts"` // after which it is given up; 0: never
	FirstMS  int64  `json:"first_ms"` // lease of the first claim, which doubles
	LongMS   int64  `json:"longest_ms"`
	End      string `json:"end"` // what comes of a row that is never carried out
}

type stuckView struct {
	ID        string  `json:"id"`
	Kind      string  `json:"kind"`
	Shard     int     `json:"shard"`
	Attempts  int     `json:"attempts"`
	Created   int64   `json:"created"` // Unix ms
	Due       int64   `json:"due"`     // when it is tried again
	LastError string  `json:"last_error"`
	Bytes     int     `json:"bytes"`
	Text      *string `json:"text,omitempty"`
	Base64    []byte  `json:"base64,omitempty"`
}

// readOutbox answers GET /v1/fleet/outbox?limit=100: every kind's backlog and
// schedule, and the rows that are stuck, the most often tried first.
func (f *Fleet) readOutbox(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	stats, err := f.opt.Ledger.Backlog(r.Context())
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	rows, err := f.opt.Ledger.StuckRows(r.Context(), limit)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	kinds := make([]kindView, len(stats))
	for i, s := range stats {
		c := outbox.ScheduleOf(s.Kind)
		kinds[i] = kindView{string(s.Kind), s.Depth, s.Oldest.Milliseconds(), s.Stuck, c.Attempts, c.First.Milliseconds(), c.Longest.Milliseconds(), c.End}
	}
	stuck := make([]stuckView, len(rows))
	for i, row := range rows {
		stuck[i] = stuckView{ID: row.ID, Kind: string(row.Kind), Shard: row.Shard, Attempts: row.Attempts, Created: row.CreatedAt.UnixMilli(), Due: row.DueAt.UnixMilli(), LastError: row.LastError, Bytes: len(row.Payload)}
		stuck[i].Text, stuck[i].Base64 = shown(row.Payload, mostPayload)
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "kinds": kinds, "stuck": stuck})
}
