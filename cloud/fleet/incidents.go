package fleet

import (
	"net/http"

	"vendline/cloud/fence"
)

type incidentView struct {
	ID       string `json:"id"`
	At       int64  `json:"at"` // Unix ms
	Reason   string `json:"reason"`
	Place    string `json:"place"`   // of the server, if it is about one
	Cabinet  string `json:"cabinet"` // if it is about one
	Cabinets int64  `json:"cabinets"`
}

func incidentOf(i fence.Incident) incidentView {
	return incidentView{i.ID, i.At.UnixMilli(), string(i.Reason), i.Place, i.Cabinet, i.Cabinets}
}

// readIncidents answers GET /v1/fleet/incidents?limit=100: when Redis, or a part
// of it, was fenced in the last month, newest first.
func (f *Fleet) readIncidents(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	found, err := f.opt.Ledger.Incidents(r.Context(), f.opt.Clock().AddDate(0, -1, 0), limit)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	views := make([]incidentView, len(found))
	for i, one := range found {
		views[i] = incidentOf(one)
	}
	f.write(w, struct {
		At        int64          `json:"at"`
		Incidents []incidentView `json:"incidents"`
	}{f.opt.Clock().UnixMilli(), views})
}
