package scan

import (
	"context"
	"net/http"
	"time"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// maxWait bounds a long poll; a longer wait is cut to it.
const maxWait = 60 * time.Second

// order answers GET /v1/orders/{id}. Facts can be asked for too; the cloud's ack
// makes them accepted.
type order struct {
	ID        string          `json:"id"`
	Epoch     string          `json:"epoch"`
	Seq       int64           `json:"seq"`
	Status    string          `json:"status"`         // pending, accepted or refused
	Code      wire.Code       `json:"code,omitempty"` // accepted, the refusal, or why it is still pending
	Detail    string          `json:"detail,omitempty"`
	Retryable bool            `json:"retryable"`             // pending only: the agent is trying by itself
	State     string          `json:"order_state,omitempty"` // of the order in the cloud
	Amount    int64           `json:"amount,omitempty"`      // minor units
	Currency  string          `json:"currency,omitempty"`
	ExpiresIn int64           `json:"expires_in,omitempty"` // ms the hold still lives
	Short     []wire.Shortage `json:"short,omitempty"`
	Prices    []wire.Price    `json:"prices,omitempty"`    // price_changed: what the SKUs cost now
	PricedAt  int64           `json:"priced_at,omitempty"` // … under this version of the planogram
}

func (a *api) getOrder(w http.ResponseWriter, r *http.Request) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if !wire.ValidID(id) {
		return &wire.FieldError{Path: "id", Problem: "must be a lower-case UUID"}
	}
	settled, stop := a.Box.Watch(id) // before Lookup, so that no answer falls in between
	defer stop()
	found, err := a.Box.Lookup(id)
	if err == nil && !found.Settled && wait > 0 {
		if err := a.await(w, r, settled, wait); err != nil {
			return err
		}
		found, err = a.Box.Lookup(id)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, a.orderOf(found))
	return nil
}

func waitOf(r *http.Request) (time.Duration, error) {
	s := r.URL.Query().Get("wait")
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, &wire.FieldError{Path: "wait", Problem: `must be a duration such as "20s"`}
	}
	return min(d, maxWait), nil
}

func (a *api) await(w http.ResponseWriter, r *http.Request, settled <-chan struct{}, wait time.Duration) error {
	leave, err := enter(a.waits)
	if err != nil {
		return err
	}
	defer leave()
	// Not every ResponseWriter has deadlines; without one the wait is only shorter.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + 15*time.Second))
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	select {
	case <-settled:
	case <-ctx.Done():
	case <-a.stop.Done():
	}
	return nil
}

func (a *api) orderOf(f outbox.Found) order {
	o := order{ID: f.ID, Epoch: f.Epoch, Seq: f.Seq, Status: "pending"}
	if !f.Settled {
		o.Code, o.Detail = a.Link.Reason(f.Seq)
		o.Retryable = o.Code.Retryable()
		return o
	}
	out := f.Outcome
	o.Status = "refused"
	if out.Code == wire.Accepted {
		o.Status = "accepted"
	}
	o.Code, o.Detail, o.State, o.Amount, o.Currency = out.Code, out.Detail, out.Status, out.Amount, out.Currency
	o.ExpiresIn, o.Short, o.Prices, o.PricedAt = out.ExpiresIn, out.Short, out.Prices, out.PricedAt
	return o
}
