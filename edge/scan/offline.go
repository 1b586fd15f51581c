package scan

import (
	"context"
	"errors"
	"net/http"
	"time"

	"vendline/edge/allowance"
	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// Allowance is what may be sold offline, as the API needs it.
// *allowance.Allowance is one.
type Allowance interface {
	// Sell takes a sale out of the allowance and appends it, once per id.
	Sell(ctx context.Context, e outbox.Entry) (outbox.Receipt, error)
	// Repeated reports whether a sale was made before.
	Repeated(e outbox.Entry) (r outbox.Receipt, yes bool, err error)
	Left() (left []allowance.Left, known bool)
}

// codes of the cabinet's own, which never cross the wire.
const (
	codeExceeded wire.Code = "allowance_exceeded"
	codeOnline   wire.Code = "online"
)

// silence is how long the cloud may owe an answer before it counts as away.
const silence = 10 * time.Second

type offlineSale struct {
	ID    *string     `json:"id"`
	Lines []wire.Line `json:"lines"`
}

// postOfflineSale sells within the allowance while the cloud can not be asked.
func (a *api) postOfflineSale(w http.ResponseWriter, r *http.Request) error {
	var in offlineSale
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	lines, err := wire.Basket(in.Lines)
	if err != nil {
		return err
	}
	leave, err := enter(a.posts)
	if err != nil {
		return err
	}
	defer leave()
	e := outbox.Entry{At: a.Now().UnixMilli(), Fact: &wire.Fact{Kind: wire.FactSale, Lines: lines}}
	if e.ID, err = a.idOf(r, in.ID); err != nil {
		return err
	}
	got, again, err := a.Allowance.Repeated(e) // a sale that was made stays made, whether or not we are online now
	if err == nil && !again {
		if link := a.Link.Status(); link.Connected && link.Owed < silence {
			return problemf(http.StatusConflict, codeOnline, "the cloud can be asked: POST /v1/scan-orders")
		}
		got, err = a.Allowance.Sell(r.Context(), e)
	}
	if errors.Is(err, allowance.ErrExceeded) {
		return a.exceeded(err)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/orders/"+got.ID)
	writeJSON(w, http.StatusAccepted, receipt{ID: got.ID, Epoch: got.Epoch, Seq: got.Seq, Status: "accepted"})
	return nil
}

func (a *api) exceeded(err error) error {
	left, known := a.Allowance.Left()
	p := problemf(http.StatusConflict, codeExceeded, "more than may be sold offline: %s", err)
	if !known {
		p = problemf(http.StatusConflict, codeExceeded, "the cloud has granted nothing to be sold offline")
	}
	p.Left = &left
	return p
}
