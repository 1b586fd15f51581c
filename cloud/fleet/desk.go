package fleet

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"vendline/cloud/order"
	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

// Desk is what waits for a person. Every method is a short call.
type Desk interface {
	// Cases returns up to n cases, open ones unless closed is set, newest first;
	// CountCases is how many are open.
	Cases(ctx context.Context, closed bool, n int) ([]order.Case, error)
	CountCases(ctx context.Context) (int64, error)
	// CloseCase closes a case with a note; closing twice keeps the first note. A
	// case that does not exist is a *order.Refusal.
	CloseCase(ctx context.Context, id, note string) error
	// RetryRefund tries a refund that is stuck once more; retried is false when it
	// was not stuck. One that does not exist is a *order.Refusal.
	RetryRefund(ctx context.Context, id string) (retried bool, err error)
	// SlotFaults lists all slots that are out of order.
	SlotFaults(ctx context.Context) ([]order.SlotFault, error)
	// ResumeSlot ends a slot's suspension and its case; there is false when it was
	// not suspended.
	ResumeSlot(ctx context.Context, cabinet, slot string) (there bool, err error)
	// UnackedPlanograms returns up to n cabinets that do not work by their newest
	// planogram yet, those that wait longest first; CountUnackedPlanograms how
	// many there are.
	UnackedPlanograms(ctx context.Context, n int) ([]planogram.Unacked, error)
	CountUnackedPlanograms(ctx context.Context) (int64, error)
}

// shownDesk is how many cases and planograms a page lists.
const shownDesk = 12

// deskView is what waits for a person, as pages see it. Null is unknown.
type deskView struct {
	Open    *int64        `json:"open_cases"`
	Cases   []caseView    `json:"cases"`              // the newest
	Unacked *int64        `json:"unacked_planograms"` // cabinets that do not work by their newest planogram
	Waiting []unackedView `json:"planograms"`         // those that wait longest
}

type caseView struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Subject string `json:"subject"`
	Order   string `json:"order,omitempty"`
	Cabinet string `json:"cabinet,omitempty"`
	Detail  string `json:"detail"`
	Created int64  `json:"created"` // Unix ms
	Closed  *int64 `json:"closed"`  // null: open
	Note    string `json:"note,omitempty"`
}

type unackedView struct {
	Cabinet string `json:"cabinet"`
	Version int64  `json:"version"`
	Since   int64  `json:"since"` // Unix ms
	Acked   int64  `json:"acked"` // the version it works by, as it says; 0 is none
}

func casesOf(list []order.Case) []caseView {
	out := make([]caseView, len(list))
	for i, c := range list {
		out[i] = caseView{ID: c.ID, Kind: string(c.Kind), Subject: c.Subject, Order: c.Order, Cabinet: c.Cabinet, Detail: c.Detail, Created: c.CreatedAt.UnixMilli(), Note: c.Note}
		if c.Closed {
			out[i].Closed = ref(c.ChangedAt.UnixMilli())
		}
	}
	return out
}

func unackedOf(list []planogram.Unacked) []unackedView {
	out := make([]unackedView, len(list))
	for i, u := range list {
		out[i] = unackedView{Cabinet: u.Cabinet, Version: u.Version, Since: u.Since.UnixMilli(), Acked: u.Acked}
	}
	return out
}

// readDesk reads what waits for a person, and which slots are out of order, by
// cabinet; what cannot be read is nil.
func (f *Fleet) readDesk(ctx context.Context) (v deskView, suspended map[string][]slotView, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	open, err := f.opt.Desk.CountCases(ctx)
	if err != nil {
		return v, nil, err
	}
	cases, err := f.opt.Desk.Cases(ctx, false, shownDesk)
	if err != nil {
		return v, nil, err
	}
	unacked, err := f.opt.Desk.CountUnackedPlanograms(ctx)
	if err != nil {
		return v, nil, err
	}
	waiting, err := f.opt.Desk.UnackedPlanograms(ctx, shownDesk)
	if err != nil {
		return v, nil, err
	}
	if suspended, err = f.suspended(ctx); err != nil {
		return v, nil, err
	}
	return deskView{Open: &open, Cases: casesOf(cases), Unacked: &unacked, Waiting: unackedOf(waiting)}, suspended, nil
}

// slotView is a slot that is out of order.
type slotView struct {
	Slot  string `json:"slot"`
	SKU   string `json:"sku"`
	Fault string `json:"fault"`
	Since int64  `json:"since"` // Unix ms
}

func (f *Fleet) suspended(ctx context.Context) (map[string][]slotView, error) {
	faults, err := f.opt.Desk.SlotFaults(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string][]slotView{}
	for _, s := range faults {
		out[s.Cabinet] = append(out[s.Cabinet], slotView{Slot: s.Slot, SKU: s.SKU, Fault: s.Fault, Since: s.Since.UnixMilli()})
	}
	return out, nil
}

// suspend keeps which slots are out of order.
func (s *sampler) suspend(all map[string][]slotView) {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	s.state.faults = all
}

// readCases answers GET /v1/fleet/cases?closed=true&limit=100: open cases, or
// closed ones, newest first.
func (f *Fleet) readCases(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r)
	closed := r.URL.Query().Get("closed")
	if err == nil && closed != "" && closed != "true" && closed != "false" {
		err = &wire.FieldError{Path: "closed", Problem: "must be true or false"}
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	open, err := f.opt.Desk.CountCases(r.Context())
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	list, err := f.opt.Desk.Cases(r.Context(), closed == "true", limit)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "open": open, "cases": casesOf(list)})
}

// mostNote is the longest note, in characters.
const mostNote = 200

// closeCase answers POST /v1/fleet/cases/{id}/close {"note":"…"}: somebody has
// looked at it, and says what came of it.
func (f *Fleet) closeCase(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Note string `json:"note"`
	}
	err := f.host.ReadJSON(w, r, &b)
	if n := utf8.RuneCountInString(b.Note); err == nil && (n < 1 || n > mostNote) {
		err = &wire.FieldError{Path: "note", Problem: "must say in 1 to 200 characters what came of it"}
	}
	id := r.PathValue("id")
	if err == nil && !wire.ValidID(id) {
		err = &order.Refusal{Code: wire.CodeNotFound, Detail: "no case has this id"}
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(r.Context(), writeLimit)
		defer cancel()
		err = f.opt.Desk.CloseCase(ctx, id, b.Note)
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "id": id, "closed": true})
}

// deskEvery is how often pages hear of the desk.
const deskEvery = 2 * time.Second
