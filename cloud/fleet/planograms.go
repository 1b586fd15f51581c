package fleet

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"vendline/cloud/order"
	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

// Planograms is what operators do with planograms.
type Planograms interface {
	// SetPlanogram makes slots the newest version of a cabinet; see
	// planogram.Service. Errors: planogram.ErrConflict, *wire.FieldError,
	// *order.Refusal.
	SetPlanogram(ctx context.Context, cabinet string, slots []wire.Slot, base *int64) (version int64, made bool, err error)
	// Planograms returns how the planograms of cabinets stand; a cabinet without
	// one is missing.
	Planograms(ctx context.Context, cabinets ...string) (map[string]planogram.State, error)
}

// planogramView is a cabinet's newest planogram. Version 0 is none.
type planogramView struct {
	At      int64       `json:"at"`
	Cabinet string      `json:"cabinet"`
	Version int64       `json:"version"`
	Since   *int64      `json:"since"`    // Unix ms; null: there is none
	Acked   int64       `json:"acked"`    // newest version that the cabinet works by, as it says; 0 is none
	AckedAt *int64      `json:"acked_at"` // when it said so
	Slots   []wire.Slot `json:"slots"`
}

// readPlanogram answers GET /v1/fleet/cabinets/{id}/planogram.
func (f *Fleet) readPlanogram(w http.ResponseWriter, r *http.Request) {
	v, err := f.planogram(r.Context(), r.PathValue("id"))
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, v)
}

func (f *Fleet) planogram(ctx context.Context, cabinet string) (planogramView, error) {
	v := planogramView{At: f.opt.Clock().UnixMilli(), Cabinet: cabinet, Slots: []wire.Slot{}}
	if err := f.known(ctx, cabinet); err != nil {
		return v, err
	}
	all, err := f.opt.Planograms.Planograms(ctx, cabinet)
	s, ok := all[cabinet]
	if err != nil || !ok {
		return v, err
	}
	v.Version, v.Since, v.Acked, v.Slots = s.Version, ref(s.Since.UnixMilli()), s.Acked, s.Slots
	if s.Acked > 0 {
		v.AckedAt = ref(s.AckedAt.UnixMilli())
	}
	return v, nil
}

// known refuses a cabinet that is not there.
func (f *Fleet) known(ctx context.Context, cabinet string) error {
	if wire.ValidCabinet(cabinet) {
		ids, err := f.opt.Ledger.Cabinets(ctx)
		if _, there := slices.BinarySearch(ids, cabinet); err != nil || there {
			return err
		}
	}
	return &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no such cabinet"}
}

// setPlanogram answers PUT /v1/fleet/cabinets/{id}/planogram {"base":3,"slots":[…]}.
// base, if it is there, is the version that the slots were made from: it is 409
// when that is not the newest any more. The same slots again are the same version.
func (f *Fleet) setPlanogram(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Base  *int64      `json:"base"`
		Slots []wire.Slot `json:"slots"`
	}
	if err := f.host.ReadJSON(w, r, &b); err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), writeLimit)
	defer cancel()
	cabinet := r.PathValue("id")
	version, made, err := f.opt.Planograms.SetPlanogram(ctx, cabinet, b.Slots, b.Base)
	if errors.Is(err, planogram.ErrConflict) {
		err = &order.Refusal{Code: wire.CodeVersionConflict, Detail: "somebody was faster; read the planogram again"}
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "cabinet": cabinet, "version": version, "made": made})
}

// readUnacked answers GET /v1/fleet/planograms?unacked=true&limit=100: cabinets
// that do not work by their newest planogram yet, those that wait longest first.
func (f *Fleet) readUnacked(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r)
	if err == nil && r.URL.Query().Get("unacked") != "true" {
		err = &wire.FieldError{Path: "unacked", Problem: "must be true: others are read cabinet by cabinet"}
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	total, err := f.opt.Desk.CountUnackedPlanograms(r.Context())
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	list, err := f.opt.Desk.UnackedPlanograms(r.Context(), limit)
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "total": total, "planograms": unackedOf(list)})
}

// resumeSlot answers POST /v1/fleet/cabinets/{id}/slots/{slot}/resume: somebody
// has looked at the slot, and it works. Doing so twice is no error.
func (f *Fleet) resumeSlot(w http.ResponseWriter, r *http.Request) {
	cabinet, slot := r.PathValue("id"), r.PathValue("slot")
	err := f.known(r.Context(), cabinet)
	if err == nil && !wire.ValidSKU(slot) { // a SKU without a planogram has a slot of its own name
		err = &wire.FieldError{Path: "slot", Problem: "must name a slot"}
	}
	there := false
	if err == nil {
		ctx, cancel := context.WithTimeout(r.Context(), writeLimit)
		defer cancel()
		there, err = f.opt.Desk.ResumeSlot(ctx, cabinet, slot)
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "cabinet": cabinet, "slot": slot, "resumed": there})
}
