package scan

import (
	"net/http"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// scanOrder is the body of POST /v1/scan-orders.
type scanOrder struct {
	ID       *string     `json:"id"` // optional: the firmware's own
	User     string      `json:"user"`
	Lines    []wire.Line `json:"lines"`
	PricedAt *int64      `json:"priced_at"` // optional: version of the planogram whose prices were shown
}

// receipt answers a post: the event is on the disk.
type receipt struct {
	ID     string `json:"id"`
	Epoch  string `json:"epoch"`
	Seq    int64  `json:"seq"`
	Status string `json:"status"`
}

func (a *api) postOrder(w http.ResponseWriter, r *http.Request) error {
	var in scanOrder
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	if !wire.ValidUser(in.User) {
		return &wire.FieldError{Path: "user", Problem: "must be 1 to 64 letters, digits, '.', '_', '@', ':' or '-'"}
	}
	lines, err := wire.Basket(in.Lines)
	if err != nil {
		return err
	}
	o := &wire.Order{User: in.User, Lines: lines}
	if in.PricedAt != nil {
		if o.PricedAt = *in.PricedAt; o.PricedAt < 1 {
			return &wire.FieldError{Path: "priced_at", Problem: "must be 1 or more, or left out"}
		}
	}
	return a.keep(w, r, in.ID, outbox.Entry{Order: o})
}

// keep appends e and answers 202 after the sync. Nothing before that line may
// tell the firmware that its event is safe.
func (a *api) keep(w http.ResponseWriter, r *http.Request, id *string, e outbox.Entry) (err error) {
	leave, err := enter(a.posts)
	if err != nil {
		return err
	}
	defer leave()
	if e.ID, err = a.idOf(r, id); err != nil {
		return err
	}
	e.At = a.Now().UnixMilli()
	got, err := a.Box.Append(r.Context(), e)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/orders/"+got.ID)
	writeJSON(w, http.StatusAccepted, receipt{ID: got.ID, Epoch: got.Epoch, Seq: got.Seq, Status: "pending"})
	return nil
}
