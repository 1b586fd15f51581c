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

// maxWait is the longest that GET /v1/orders/{id} holds its answer back.
const maxWait = 60 * time.Second

// follow answers GET /v1/orders/{id}: the order as it stands, or, with ?wait=20s,
// as soon as it is paid or released.
func (s *Server) follow(c *gin.Context) {
	o, err := s.find(c.Writer, c.Request, c.Param("id"))
	s.writeCurrent(c, o, err)
}

func (s *Server) find(w http.ResponseWriter, r *http.Request, id string) (order.Order, error) {
	wait, err := waitOf(r)
	if err != nil {
		return order.Order{}, err
	}
	if !wire.ValidID(id) {
		return order.Order{}, order.ErrUnknown
	}
	if wait == 0 {
		return s.opt.Orders.Get(r.Context(), id)
	}
	if !s.waiting.enter() {
		return order.Order{}, newProblem(wire.CodeOverloaded, "more callers wait than this process keeps; ask without wait")
	}
	defer s.waiting.leave()
	return s.wait(w, r, id, wait)
}

// wait ends when the order is final, when d is over, when the caller goes away,
// and when this process is about to stop; in the last case the order is answered
// as it stands and the caller asks again elsewhere.
func (s *Server) wait(w http.ResponseWriter, r *http.Request, id string, d time.Duration) (order.Order, error) {
	stretch(w, d)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.draining, cancel)()
	o, err := s.opt.Orders.Wait(ctx, id, d)
	if errors.Is(err, context.Canceled) && r.Context().Err() == nil {
		if o.ID != "" {
			return o, nil
		}
		return o, newProblem(wire.CodeUnavailable, "this process is stopping; ask again")
	}
	return o, err
}

// stretch gives one answer more time than the server's write timeout.
func stretch(w http.ResponseWriter, d time.Duration) {
	// A writer without deadlines (a test's) has none to stretch.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d + writeTimeout))
}

func waitOf(r *http.Request) (time.Duration, error) {
	if r.URL.RawQuery == "" {
		return 0, nil
	}
	text := r.URL.Query()["wait"]
	if len(text) == 0 {
		return 0, nil
	}
	d, err := time.ParseDuration(text[0])
	if err != nil || len(text) > 1 || d < 0 || d > maxWait {
		return 0, &wire.FieldError{Path: "wait", Problem: "must be one duration from 0s to 60s, as in 20s"}
	}
	return d, nil
}

// cancel answers POST /v1/orders/{id}/cancel. Cancelling twice is cancelling once.
func (s *Server) cancel(c *gin.Context) {
	id := c.Param("id")
	if !wire.ValidID(id) {
		s.Refuse(c.Writer, c.Request, order.ErrUnknown)
		return
	}
	ctx, stop := s.unhurried(c.Request)
	defer stop()
	o, err := s.opt.Orders.Cancel(ctx, id)
	s.writeCurrent(c, o, err)
}

// writeCurrent answers with an order as it stands, or with why not.
func (s *Server) writeCurrent(c *gin.Context, o order.Order, err error) {
	a := answer{Order: o}
	if err == nil {
		a, err = s.asItStands(c.Request.Context(), o)
	}
	if err != nil {
		s.Refuse(c.Writer, c.Request, err)
		return
	}
	s.writeOrder(c.Writer, http.StatusOK, a)
}
