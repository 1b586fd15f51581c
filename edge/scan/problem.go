package scan

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"vendline/edge/allowance"
	"vendline/edge/dispense"
	"vendline/edge/outbox"
	"vendline/shared/group"
	"vendline/shared/wire"
)

// codeOutboxFull is the cabinet's own: it never crosses the wire, since it means
// that nothing was sent.
const codeOutboxFull wire.Code = "outbox_full"

// Likewise: what is wrong with a question about a command.
const (
	codeCommandUnknown wire.Code = "command_unknown"
	codeCommandState   wire.Code = "command_state"
	codeResultConflict wire.Code = "result_conflict"
)

// problem is an RFC 9457 problem.
type problem struct {
	Type      string    `json:"type"`
	Title     string    `json:"title"`
	Status    int       `json:"status"`
	Detail    string    `json:"detail"`
	Code      wire.Code `json:"code"`
	Retryable bool      `json:"retryable"` // the same request may succeed later, unchanged
	RequestID string    `json:"request_id"`
	Field     string    `json:"field,omitempty"` // what is wrong: "lines[1].qty"

	Left *[]allowance.Left `json:"left,omitempty"` // allowance_exceeded: what may still be sold
}

func (p *problem) Error() string { return string(p.Code) + ": " + p.Detail }

func problemf(status int, code wire.Code, format string, args ...any) *problem {
	return &problem{Status: status, Code: code, Retryable: code.Retryable() || code == codeOutboxFull, Detail: fmt.Sprintf(format, args...)}
}

// problemOf is the one table from errors to answers.
func problemOf(err error) *problem {
	var p *problem
	var field *wire.FieldError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &field):
		p = problemf(http.StatusBadRequest, wire.CodeInvalidRequest, "%s", field.Error())
		p.Field = field.Path
		return p
	case errors.Is(err, wire.ErrTooLarge), errors.Is(err, outbox.ErrTooLarge):
		return problemf(http.StatusRequestEntityTooLarge, wire.CodeTooLarge, "%s", err)
	case errors.Is(err, outbox.ErrConflict):
		return problemf(http.StatusUnprocessableEntity, wire.CodeIdempotencyConflict, "this id or key was used for something else; the first stands")
	case errors.Is(err, outbox.ErrFull):
		return problemf(http.StatusInsufficientStorage, codeOutboxFull, "the cabinet can not keep more events until the cloud has taken some; nothing was sold")
	case errors.Is(err, outbox.ErrUpto):
		p = problemf(http.StatusBadRequest, wire.CodeInvalidRequest, "upto must be the seq of an event that was posted before")
		p.Field = "upto"
		return p
	case errors.Is(err, dispense.ErrUnknown):
		return problemf(http.StatusNotFound, codeCommandUnknown, "no such command here, or it is too old")
	case errors.Is(err, dispense.ErrState):
		return problemf(http.StatusConflict, codeCommandState, "the command was not handed out, so it has no result")
	case errors.Is(err, dispense.ErrConflict):
		return problemf(http.StatusConflict, codeResultConflict, "%s; only unknown may be replaced", err)
	case errors.Is(err, outbox.ErrUnknown):
		return problemf(http.StatusNotFound, wire.CodeOrderUnknown, "no such order here, or its answer is too old")
	case errors.Is(err, group.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return problemf(http.StatusServiceUnavailable, wire.CodeUnavailable, "interrupted; send it again under the same id")
	}
	return problemf(http.StatusInternalServerError, wire.CodeInternal, "the event could not be kept; send it again under the same id")
}

func writeProblem(w http.ResponseWriter, id string, p *problem) {
	q := *p
	q.Type, q.Title, q.RequestID = "urn:vendline:problem:"+string(q.Code), http.StatusText(q.Status), id
	if q.Retryable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	writeJSON(w, q.Status, q)
}
