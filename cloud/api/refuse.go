package api

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"vendline/shared/wire"
)

const headerRequestID = "X-Request-Id"

// clientGone is the status that a request gets in the metrics when nobody is
// left to hear an answer.
const clientGone = 499

// Refuse answers a request with what err means to its caller. This is where an
// error of the HTTP side ends: one that the caller is not told about is logged
// here, once, with the request's id.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	p, known := problemOf(err)
	id := s.requestID(r)
	gone := r.Context().Err() != nil
	if !known && !(gone && errors.Is(err, context.Canceled)) {
		s.complain(r, id, err)
	}
	if gone {
		w.WriteHeader(clientGone)
		return
	}
	s.metrics.problems.WithLabelValues(string(p.Code)).Inc()
	p.write(w, id)
}

// requestID is the caller's X-Request-Id if it is harmless, else a new one. It
// is made only for requests that somebody may want to find again.
func (s *Server) requestID(r *http.Request) string {
	if id := r.Header.Get(headerRequestID); saneID(id) {
		return id
	}
	id := s.opt.ID()
	r.Header.Set(headerRequestID, id)
	return id
}

func saneID(id string) bool {
	if len(id) < 1 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return true
}

// complain logs a failure of ours. While a server behind us is away every
// request fails alike, so lines are limited and tell how many were left out.
func (s *Server) complain(r *http.Request, id string, err error) {
	if !s.complaints.Allow() {
		s.unsaid.Add(1)
		return
	}
	s.opt.Log.Warn("request failed", "request_id", id, "method", r.Method, "path", r.URL.Path, "error", err, "similar_unlogged", s.unsaid.Swap(0))
}

func newComplaints() *rate.Limiter { return rate.NewLimiter(10, 50) }

// recovered answers a request whose handler panicked.
func (s *Server) recovered(c *gin.Context, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	id := s.requestID(c.Request)
	s.opt.Log.Error("handler panicked", "request_id", id, "method", c.Request.Method, "path", c.Request.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	if c.Writer.Written() {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	s.metrics.problems.WithLabelValues(string(wire.CodeInternal)).Inc()
	newProblem(wire.CodeInternal, "the fault is logged under this request_id; the same request may be sent again").write(c.Writer, id)
	c.Abort()
}

func (s *Server) notFound(c *gin.Context) {
	s.Refuse(c.Writer, c.Request, newProblem(wire.CodeNotFound, "see /openapi.json for what there is"))
}

func (s *Server) methodNotAllowed(c *gin.Context) {
	s.Refuse(c.Writer, c.Request, newProblem(codeMethod, "the Allow header lists what it takes"))
}
