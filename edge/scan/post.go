package scan

import (
	"net/http"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// scanOrder is the body of POST /v1/scan-orders.
type scanOrder struct {
	ID    *string     `json:"id"` // optional: the firmware's own
	User  string      `json:"user"`
	Lines []wire.Line `json:"lines"`
}

// postedFact is the body of POST /v1/facts.
type postedFact struct {
	ID    *string     `json:"id"`
	Kind  string      `json:"kind"`
	Lines []wire.Line `json:"lines"`
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
	return a.keep(w, r, in.ID, outbox.Entry{Order: &wire.Order{User: in.User, Lines: lines}})
}

func (a *api) postFact(w http.ResponseWriter, r *http.Request) error {
	var in postedFact
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	kind := wire.FactKind(in.Kind)
	if kind != wire.FactRestock && kind != wire.FactSale {
		return &wire.FieldError{Path: "kind", Problem: "must be restock or sale"}
	}
	lines, err := wire.Basket(in.Lines)
	if err != nil {
		return err
	}
	return a.keep(w, r, in.ID, outbox.Entry{Fact: &wire.Fact{Kind: kind, Lines: lines}})
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
