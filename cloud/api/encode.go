package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"vendline/cloud/order"
)

// jsonTime is RFC 3339 in UTC with milliseconds, which is what the ledger keeps.
const jsonTime = "2006-01-02T15:04:05.000Z"

// answer is an order in the shape that all order endpoints share. It is written
// by hand: 10,000 of these a second leave no room for reflection, and a replay
// has to have the bytes of the first answer.
type answer struct {
	order.Order
	current  bool   // as it stands, with its version; else as it was first answered
	standing string // of its money, when some has come: paid, refunding, refunded
}

func (a answer) append(b []byte) []byte {
	b = append(b, `{"order":{"id":`...)
	b = appendString(b, a.ID)
	b = append(b, `,"cabinet":`...)
	b = appendString(b, a.Cabinet)
	b = append(b, `,"user":`...)
	b = appendString(b, a.User)
	b = append(b, `,"status":`...)
	b = appendString(b, string(a.Status))
	if a.current {
		b = append(b, `,"version":`...)
		b = strconv.AppendInt(b, a.Version, 10)
	}
	b = a.money(b)
	b = append(b, `,"lines":[`...)
	for i, l := range a.Lines {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"sku":`...)
		b = appendString(b, l.SKU)
		b = append(b, `,"qty":`...)
		b = strconv.AppendInt(b, int64(l.Qty), 10)
		b = append(b, `,"price":`...)
		b = strconv.AppendInt(b, l.Price, 10)
		if a.current {
			b = append(b, `,"state":`...)
			b = appendString(b, string(l.State))
			b = append(b, `,"dropped":`...)
			b = strconv.AppendInt(b, int64(l.Dropped), 10)
		}
		b = append(b, '}')
	}
	b = append(b, `],"created_at":`...)
	b = appendTime(b, a.CreatedAt)
	if a.Status == order.Init {
		return a.intent(b)
	}
	b = append(b, `,"expires_at":`...)
	b = appendTime(b, a.ExpiresAt)
	b = append(b, `},"payment":{"status":`...)
	b = appendString(b, a.payment())
	b = a.money(b)
	b = append(b, `,"due_by":`...)
	b = appendTime(b, a.dueBy())
	return append(b, "}}\n"...)
}

// intent ends the answer of an order that is not placed: there is nothing to pay
// yet, but a time by which it is decided, or the reason why it never will be.
func (a answer) intent(b []byte) []byte {
	b = append(b, `,"decide_by":`...)
	b = appendTime(b, a.ExpiresAt)
	b = append(b, '}')
	if a.Refused() && a.Intent != nil {
		b = append(b, `,"refusal":{"code":`...)
		b = appendString(b, string(a.Intent.Code))
		b = append(b, `,"detail":`...)
		b = appendString(b, a.Intent.Detail)
		b = append(b, '}')
	}
	return append(b, "}\n"...)
}

func (a answer) money(b []byte) []byte {
	b = append(b, `,"amount":`...)
	b = strconv.AppendInt(b, a.Amount, 10)
	b = append(b, `,"currency":`...)
	return appendString(b, a.Currency)
}

// payment says where an order's money is; if none has come, what its state means for it.
func (a answer) payment() string {
	if a.standing != "" {
		return a.standing
	}
	switch a.Status {
	case order.Consumed:
		return "paid"
	case order.RolledBack:
		return "void"
	}
	return "unpaid"
}

// dueBy is when the hold ends: the present one's end, or the first one's.
func (a answer) dueBy() time.Time {
	if a.current && !a.HoldUntil.IsZero() {
		return a.HoldUntil
	}
	return a.ExpiresAt
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, jsonTime)
	return append(b, '"')
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always marshals
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func (s *Server) writeOrder(w http.ResponseWriter, status int, a answer) {
	buf := s.buffer()
	defer s.release(buf)
	_, _ = buf.Write(a.append(buf.AvailableBuffer())) // cannot fail; does not copy what fits
	writeBody(w, status, buf.Bytes())
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		panic(err) // a type of ours that JSON cannot hold: the edge answers 500
	}
	writeBody(w, status, b.Bytes())
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = headerJSON[:]
	h["Cache-Control"] = headerNoStore[:]
	if len(body) > 2000 { // net/http counts shorter ones itself
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may be gone; nothing to do about it
}

// Header values that every answer shares; nobody writes to them.
var (
	headerJSON    = [...]string{jsonType}
	headerNoStore = [...]string{"no-store"}
)
