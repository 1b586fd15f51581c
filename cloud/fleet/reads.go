package fleet

import (
	"context"
	"encoding/json"
	"net/http"
	"sort"
	"strconv"

	"vendline/shared/wire"
)

// Bounds of the reads.
const (
	defaultRows = 100
	mostRows    = 500
	mostPayload = 4 << 10 // bytes of a dead letter that are shown
)

// readCabinets answers GET /v1/fleet/cabinets?after=C100&limit=100: cabinets by
// id, with their stock. next, when there is one, is the next page's after.
func (f *Fleet) readCabinets(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	page, err := f.cabinetPage(r.Context(), r.URL.Query().Get("after"), limit)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, page)
}

type cabinetPage struct {
	At       int64         `json:"at"`
	Total    int           `json:"total"`
	Cabinets []cabinetView `json:"cabinets"`
	Next     string        `json:"next,omitempty"`
}

func (f *Fleet) cabinetPage(ctx context.Context, after string, limit int) (cabinetPage, error) {
	ids, err := f.opt.Ledger.Cabinets(ctx)
	if err != nil {
		return cabinetPage{}, err
	}
	p := cabinetPage{At: f.opt.Clock().UnixMilli(), Total: len(ids), Cabinets: []cabinetView{}}
	ids = ids[sort.SearchStrings(ids, after):]
	if len(ids) > 0 && ids[0] == after {
		ids = ids[1:]
	}
	if len(ids) > limit {
		ids = ids[:limit]
		p.Next = ids[limit-1]
	}
	products, err := f.opt.Ledger.Products(ctx)
	if err != nil {
		return cabinetPage{}, err
	}
	names := make(map[string]string, len(products))
	for _, pr := range products {
		names[pr.SKU] = pr.Name
	}
	presences := map[string]*Presence{}
	for _, pr := range f.opt.Presences() {
		presences[pr.Cabinet] = &pr
	}
	var live map[string]map[string]int64
	if f.opt.Live != nil {
		if live, err = f.opt.Live.SellableMany(ctx, ids); err != nil {
			f.opt.Log.Debug("the live stock does not answer; sellable is unknown", "error", err)
		}
	}
	suspended, err := f.suspended(ctx)
	if err != nil {
		return cabinetPage{}, err
	}
	for _, id := range ids {
		shelves, err := f.opt.Ledger.Shelves(ctx, id)
		if err != nil {
			return cabinetPage{}, err
		}
		if shelves == nil {
			shelves = []Shelf{}
		}
		p.Cabinets = append(p.Cabinets, viewOf(id, presences[id], shelves, live[id], suspendedAt(suspended, id), names))
	}
	return p, nil
}

// readPipeline answers GET /v1/fleet/pipeline: what is unknown is null, and away
// names who did not answer.
func (f *Fleet) readPipeline(w http.ResponseWriter, r *http.Request) {
	v, failed := f.readPipelineParts(r.Context())
	away := []string{}
	for source, err := range failed {
		away = append(away, source)
		f.opt.Log.Debug("the pipeline is not known in full", "source", source, "error", err)
	}
	sort.Strings(away)
	f.write(w, struct {
		At int64 `json:"at"`
		pipelineView
		Away []string `json:"away"`
	}{f.opt.Clock().UnixMilli(), v, away})
}

func limitOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultRows, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostRows {
		return 0, &wire.FieldError{Path: "limit", Problem: "must be an integer from 1 to " + strconv.Itoa(mostRows)}
	}
	return n, nil
}

func (f *Fleet) write(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a view that JSON cannot hold: a bug of this package
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(body, '\n')) // the caller may be gone; nothing to do about it
}
