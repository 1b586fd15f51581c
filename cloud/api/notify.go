package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"vendline/cloud/payment"
	"vendline/shared/wire"
)

// pathNotify is where providers call back. Pages of other sites may post there:
// what counts is the provider's signature.
const pathNotify = "/v1/payments/:provider/notify"

// notify answers POST /v1/payments/{provider}/notify, in the provider's own terms.
// The body is read once, as it came: signatures are over bytes.
func (s *Server) notify(c *gin.Context) {
	body, err := raw(c.Writer, c.Request)
	if err != nil {
		s.Refuse(c.Writer, c.Request, err)
		return
	}
	a, err := s.opt.Payments.Notify(c.Request.Context(), c.Param("provider"), payment.Notification{Header: c.Request.Header, Body: body})
	if err != nil {
		s.Refuse(c.Writer, c.Request, err)
		return
	}
	h := c.Writer.Header()
	h.Set("Content-Type", a.ContentType)
	h.Set("Cache-Control", "no-store")
	c.Writer.WriteHeader(a.Status)
	_, _ = c.Writer.Write(a.Body) // the caller may be gone; it will call again
}

// raw reads a whole body of any type.
func raw(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxMessage))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, fmt.Errorf("%w: over %d bytes", wire.ErrTooLarge, tooLarge.Limit)
	case err != nil:
		return nil, newProblem(wire.CodeInvalidRequest, "the body did not arrive whole")
	}
	return body, nil
}
