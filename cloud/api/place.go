package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

const (
	headerKey    = "Idempotency-Key"
	headerReplay = "Idempotent-Replayed"
	pathOrders   = "/v1/orders"
)

// placeBody is what a phone sends.
type placeBody struct {
	Cabinet string      `json:"cabinet"`
	User    string      `json:"user"`
	Lines   []wire.Line `json:"lines"`

	PricedAt int64  `json:"priced_at"`    // planogram version whose prices the shopper saw; 0 or missing: whatever is in force
	Callback string `json:"callback_url"` // who is told of the outcome of an intent
}

// place answers POST /v1/orders.
//
// Promise: 201 means that the order is committed. The same key and body, at any
// time and from any connection, get the same bytes again. A caller that hears
// nothing, or a 5xx, sends the same request until it hears something else.
//
// With Prefer: respond-async, 202 means that the intent is committed: the order
// is placed, or refused, within the caller's patience, and its outcome is had by
// following it. A key has one of both answers, whichever it had first.
func (s *Server) place(c *gin.Context) {
	if !s.placing.enter() {
		s.Refuse(c.Writer, c.Request, newProblem(wire.CodeOverloaded, "more orders at once than this process takes"))
		return
	}
	defer s.placing.leave()
	p := preferencesOf(c.Request.Header)
	o, replay, err := s.placeOrder(c.Writer, c.Request, p)
	there := errors.Is(err, order.ErrTakenIn)
	if err != nil && !there {
		s.Refuse(c.Writer, c.Request, err)
		return
	}
	h := c.Writer.Header()
	h["Location"] = []string{pathOrders + "/" + o.ID}
	if replay {
		h.Set(headerReplay, "true")
	}
	status := http.StatusCreated
	if o.Pending() {
		status = http.StatusAccepted
		if there {
			p = preferences{} // its patience is what was asked for at first
		}
		h.Set(headerApplied, p.applied())
	}
	s.writeOrder(c.Writer, status, answer{Order: o})
}

func (s *Server) placeOrder(w http.ResponseWriter, r *http.Request, p preferences) (order.Order, bool, error) {
	key, err := keyOf(r.Header)
	if err != nil {
		return order.Order{}, false, err
	}
	var b placeBody
	if err := s.ReadJSON(w, r, &b); err != nil {
		return order.Order{}, false, err
	}
	if err := b.check(); err != nil {
		return order.Order{}, false, err
	}
	if err := s.checkCallback(b.Callback); err != nil {
		return order.Order{}, false, err
	}
	ctx, cancel := s.unhurried(r)
	defer cancel()
	asked := order.Request{ID: order.IDFromKey(key), Cabinet: b.Cabinet, User: b.User, Lines: b.Lines, PricedAt: b.PricedAt}
	if p.async && s.opt.Intents != nil {
		return s.opt.Intents.TakeIn(ctx, asked, order.Wishes{Patience: p.wait, Callback: b.Callback})
	}
	return s.opt.Orders.Place(ctx, asked)
}

// checkCallback lets URLs pass that may be called back. An order that is placed
// at once has its outcome in its answer: nobody is called then.
func (s *Server) checkCallback(url string) error {
	if url == "" {
		return nil
	}
	if s.opt.Callback == nil {
		return &wire.FieldError{Path: "callback_url", Problem: "is not served here: no secret is configured"}
	}
	if err := s.opt.Callback(url); err != nil {
		return &wire.FieldError{Path: "callback_url", Problem: err.Error()}
	}
	return nil
}

// unhurried is the context of work that goes on when its caller hangs up: half
// a placement would leave a hold for the orphan sweep, and the shopper whose
// phone lost its network is about to ask again.
func (s *Server) unhurried(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), placeTimeout)
}

// placeTimeout bounds one placement, rebuild of the cabinet included.
const placeTimeout = 15 * time.Second

// keyOf reads the Idempotency-Key: exactly one, of 1 to 255 visible ASCII characters.
func keyOf(h http.Header) (string, error) {
	keys := h[headerKey]
	switch {
	case len(keys) == 0:
		return "", &wire.FieldError{Path: headerKey, Problem: "is missing; send a UUID that you keep until you hear an answer"}
	case len(keys) > 1:
		return "", &wire.FieldError{Path: headerKey, Problem: "appears twice"}
	case len(keys[0]) < 1 || len(keys[0]) > 255:
		return "", &wire.FieldError{Path: headerKey, Problem: "must be 1 to 255 visible ASCII characters"}
	}
	for i := range len(keys[0]) {
		if b := keys[0][i]; b <= ' ' || b >= 0x7f {
			return "", &wire.FieldError{Path: headerKey, Problem: "must be 1 to 255 visible ASCII characters"}
		}
	}
	return keys[0], nil
}

// check finds what is wrong with a body and merges its lines.
func (b *placeBody) check() (err error) {
	if !wire.ValidCabinet(b.Cabinet) {
		return &wire.FieldError{Path: "cabinet", Problem: "must be 1 to 32 letters, digits, '_' or '-'"}
	}
	if !wire.ValidUser(b.User) {
		return &wire.FieldError{Path: "user", Problem: "must be 1 to 64 letters, digits, '.', '_', '@', ':' or '-'"}
	}
	if b.PricedAt < 0 {
		return &wire.FieldError{Path: "priced_at", Problem: "must be the version of a planogram, or left out"}
	}
	b.Lines, err = wire.Basket(b.Lines)
	return err
}
