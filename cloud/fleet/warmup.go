package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// mostNamed is the most cabinets that one warm-up may name; "all" has no limit.
const mostNamed = 1000

// warmupBody says which cabinets to load: some, a group, or all.
type warmupBody struct {
	Cabinets []string `json:"cabinets"`
	All      bool     `json:"all"`
	Group    string   `json:"group"`
}

// progress is one line of a warm-up's answer. The last line has no cabinet.
type progress struct {
	Cabinet string `json:"cabinet,omitempty"`
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Failed  int    `json:"failed"`
	Error   string `json:"error,omitempty"`
}

// warmup answers POST /v1/fleet/warmup with one JSON line per cabinet, as each is
// done. A cabinet whose stock is current already costs one look. It ends when
// its caller goes away; asking again goes on where it ended.
func (f *Fleet) warmup(w http.ResponseWriter, r *http.Request) {
	ids, err := f.toWarm(w, r)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()

	rc := http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	line := json.NewEncoder(w)
	p := progress{Total: len(ids)}
	write := func() bool {
		_ = rc.SetWriteDeadline(time.Now().Add(writeLimit))
		return line.Encode(p) == nil && rc.Flush() == nil
	}
	for one := range f.warmAll(ctx, ids) {
		p.Done++
		p.Cabinet, p.Error = one.cabinet, ""
		if one.err != nil {
			p.Failed++
			p.Error = f.explain(one.cabinet, one.err)
		}
		if !write() {
			cancel() // the channel still has to be emptied
		}
	}
	p.Cabinet, p.Error = "", ""
	if p.Done < p.Total {
		p.Error = "interrupted"
	}
	write()
}

// toWarm reads what a warm-up is asked for.
func (f *Fleet) toWarm(w http.ResponseWriter, r *http.Request) ([]string, error) {
	var b warmupBody
	if err := f.host.ReadJSON(w, r, &b); err != nil {
		return nil, err
	}
	switch {
	case f.opt.Rebuild == nil:
		return nil, &order.Refusal{Code: wire.CodeNotFound, Detail: "this service keeps no stock that could be warmed up"}
	case b.Group != "" && !b.All && len(b.Cabinets) == 0:
		return f.grouped(r.Context(), b.Group)
	case b.Group != "" || b.All == (len(b.Cabinets) > 0):
		return nil, &wire.FieldError{Path: "cabinets", Problem: "must name cabinets, or group must name one, or all must be true"}
	case len(b.Cabinets) > mostNamed:
		return nil, &wire.FieldError{Path: "cabinets", Problem: "must name at most " + strconv.Itoa(mostNamed) + "; use all"}
	case b.All:
		return f.opt.Ledger.Cabinets(r.Context())
	}
	for i, id := range b.Cabinets {
		if !wire.ValidCabinet(id) {
			return nil, &wire.FieldError{Path: "cabinets[" + strconv.Itoa(i) + "]", Problem: "must be 1 to 32 letters, digits, '_' or '-'"}
		}
	}
	slices.Sort(b.Cabinets)
	return slices.Compact(b.Cabinets), nil
}

type warmed struct {
	cabinet string
	err     error
}

// warmAll loads ids, a few at a time over all requests, and delivers each as it
// is done. The channel is closed when none is under way any more; after ctx has
// ended no new one begins.
func (f *Fleet) warmAll(ctx context.Context, ids []string) <-chan warmed {
	out := make(chan warmed)
	next := make(chan string)
	go func() {
		defer close(next)
		for _, id := range ids {
			select {
			case next <- id:
			case <-ctx.Done():
				return
			}
		}
	}()
	var workers sync.WaitGroup
	for range min(f.opt.Parallel, len(ids)) {
		workers.Go(func() {
			for id := range next {
				f.warm <- struct{}{}
				err := ctx.Err()
				if err == nil {
					err = f.opt.Rebuild(ctx, id)
				}
				<-f.warm
				out <- warmed{id, err}
			}
		})
	}
	go func() {
		workers.Wait()
		close(out)
	}()
	return out
}

// explain is what the operator is told; what only we can read goes to the log.
func (f *Fleet) explain(cabinet string, err error) string {
	var refused *order.Refusal
	switch {
	case errors.As(err, &refused):
		return string(refused.Code) + ": " + refused.Detail
	case errors.Is(err, context.Canceled):
		return "interrupted"
	}
	f.opt.Log.Warn("a cabinet cannot be warmed up", "cabinet", cabinet, "error", err)
	return "unavailable: the ledger or the stock does not answer; see the log"
}
