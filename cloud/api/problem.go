package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/payment"
	"vendline/shared/wire"
)

// Codes that only HTTP has.
const (
	codeMethod    wire.Code = "method_not_allowed"
	codeMediaType wire.Code = "unsupported_media_type"
	codeOrigin    wire.Code = "cross_origin"
)

// row is one line of the problem table.
type row struct {
	code   wire.Code
	status int
	title  string
}

// table is the one place where a code meets a status.
//
// A purchase limit is 409 and not 429: 429 means "slow down", and clients and
// proxies repeat it by themselves, but a limit of 24 hours is not cured by
// waiting a second. It is a conflict with what the shopper holds already, just
// as stock_short is one with what the shelf holds.
var table = [...]row{
	{wire.CodeInvalidRequest, http.StatusBadRequest, "The request is malformed or out of bounds"},
	{wire.CodeUnsupported, http.StatusBadRequest, "This message version is not spoken here"},
	{wire.CodeUnsigned, http.StatusUnauthorized, "This is not the provider's, too old, or seen before"},
	{codeOrigin, http.StatusForbidden, "Another web site may not do this"},
	{wire.CodeSKUUnknown, http.StatusNotFound, "This cabinet does not sell that SKU"},
	{wire.CodeCabinetUnknown, http.StatusNotFound, "There is no such cabinet"},
	{wire.CodeOrderUnknown, http.StatusNotFound, "There is no such order"},
	{wire.CodePaymentUnknown, http.StatusNotFound, "There is no such payment"},
	{wire.CodeNotFound, http.StatusNotFound, "There is nothing at this address"},
	{codeMethod, http.StatusMethodNotAllowed, "This address does not take that method"},
	{wire.CodeStockShort, http.StatusConflict, "Too few units are left"},
	{wire.CodePurchaseLimit, http.StatusConflict, "The purchase limit would be exceeded"},
	{wire.CodePriceChanged, http.StatusConflict, "The price is another one now"},
	{wire.CodeSlotSuspended, http.StatusConflict, "The product's slot is out of order"},
	{wire.CodeVersionConflict, http.StatusConflict, "Somebody else changed it first"},
	{wire.CodeOrderReleased, http.StatusConflict, "The attempt under this key was given back"},
	{wire.CodeOrderState, http.StatusConflict, "The order's state does not allow this"},
	{wire.CodeTooLarge, http.StatusRequestEntityTooLarge, "The body is too large"},
	{codeMediaType, http.StatusUnsupportedMediaType, "The body has to be JSON"},
	{wire.CodeIdempotencyConflict, http.StatusUnprocessableEntity, "This key was used for another order"},
	{wire.CodeInternal, http.StatusInternalServerError, "Something went wrong here"},
	{wire.CodeFenced, http.StatusServiceUnavailable, "The cabinet's stock is being rebuilt"},
	{wire.CodeOverloaded, http.StatusServiceUnavailable, "Too much at once"},
	{wire.CodeUnavailable, http.StatusServiceUnavailable, "A part behind this service does not answer"},
}

// problem is an RFC 9457 problem. It is also the error that handlers return.
type problem struct {
	Type      string          `json:"type"`
	Title     string          `json:"title"`
	Status    int             `json:"status"`
	Detail    string          `json:"detail"`
	Code      wire.Code       `json:"code"`
	Retryable bool            `json:"retryable"` // the same request, under the same key, may succeed later
	RequestID string          `json:"request_id"`
	Short     []wire.Shortage `json:"short,omitempty"`     // stock_short: which SKUs, and what is left of them
	Prices    []wire.Price    `json:"prices,omitempty"`    // price_changed: what the basket's SKUs cost now …
	PricedAt  int64           `json:"priced_at,omitempty"` // … and under which planogram version; missing: the chain's prices
	Errors    []fieldProblem  `json:"errors,omitempty"`    // which parts of the request are wrong, or which parts of the service

	retryAfter time.Duration // of a 503; at least a second
}

type fieldProblem struct {
	Field  string `json:"field"` // "lines[1].qty"
	Detail string `json:"detail"`
}

func (p *problem) Error() string { return string(p.Code) + ": " + p.Detail }

// newProblem looks code up in the table; a code that is not there is our fault.
func newProblem(code wire.Code, format string, args ...any) *problem {
	for _, r := range table {
		if r.code == code {
			return &problem{
				Type: "urn:vendline:problem:" + string(code), Title: r.title, Status: r.status,
				Detail: fmt.Sprintf(format, args...), Code: code, Retryable: code.Retryable(),
			}
		}
	}
	return newProblem(wire.CodeInternal, "the service refused this with a code it does not know")
}

// problemOf says what an error means to the caller. known is false when the
// answer hides a failure of ours that somebody has to read about in the log.
func problemOf(err error) (p *problem, known bool) {
	var field *wire.FieldError
	var refused *order.Refusal
	var state *order.StateError
	switch {
	case errors.As(err, &p):
		return p, true
	case errors.As(err, &field):
		p = newProblem(wire.CodeInvalidRequest, "%s", field.Error())
		if field.Path != "" {
			p.Errors = []fieldProblem{{field.Path, field.Problem}}
		}
		return p, true
	case errors.Is(err, wire.ErrTooLarge):
		return newProblem(wire.CodeTooLarge, "the body may have at most %d bytes", wire.MaxMessage), true
	case errors.As(err, &refused):
		p = newProblem(refused.Code, "%s", refused.Detail)
		p.Short, p.Prices, p.PricedAt = refused.Short, refused.Prices, refused.PricedAt
		p.retryAfter = refused.RetryAfter
		return p, p.Code != wire.CodeInternal
	case errors.As(err, &state):
		return newProblem(wire.CodeOrderState, "the order is %s", state.Order.Status), true
	case errors.Is(err, order.ErrUnknown):
		return newProblem(wire.CodeOrderUnknown, "no order has this id"), true
	case errors.Is(err, payment.ErrNoProvider):
		return newProblem(wire.CodePaymentUnknown, "nobody can pay in this way here"), true
	case errors.Is(err, payment.ErrUnsigned):
		return newProblem(wire.CodeUnsigned, "the callback is not the provider's, too old, or seen before"), true
	case errors.Is(err, order.ErrNotLoaded):
		return newProblem(wire.CodeFenced, "ask again in a moment"), true
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(wire.CodeUnavailable, "it took too long; the outcome is unknown: send the same request again, under the same key"), false
	}
	return newProblem(wire.CodeUnavailable, "the outcome is unknown: send the same request again, under the same key"), false
}

func (p problem) write(w http.ResponseWriter, id string) {
	p.RequestID = id
	body, err := json.Marshal(p)
	if err != nil { // unreachable: strings, integers and slices of them
		body = []byte(`{"code":"internal","status":500}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set(headerRequestID, id)
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(max(1, int(p.retryAfter.Round(time.Second)/time.Second))))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the caller may be gone; nothing to do about it
}
