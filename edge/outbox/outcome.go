package outbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"vendline/edge/ident"
	"vendline/shared/wire"
)

// ErrUnknown is returned by Lookup for an id that is neither waiting nor in the
// history of answers.
var ErrUnknown = errors.New("outbox: unknown id")

// Receipt is what Append promises: the event's place in the cabinet's history.
type Receipt struct {
	ID    string
	Epoch string
	Seq   int64
}

// Found is what the outbox knows about an id.
type Found struct {
	Receipt
	Settled bool    // the cloud's answer is stored; Outcome holds it
	Outcome Outcome // zero while not settled
}

// Outcome is the cloud's last word on an event.
type Outcome struct {
	Kind      Kind            `json:"kind"`
	Code      wire.Code       `json:"code"` // Accepted, or the refusal
	Detail    string          `json:"detail,omitempty"`
	Status    string          `json:"status,omitempty"`
	Amount    int64           `json:"amount,omitempty"`
	Currency  string          `json:"currency,omitempty"`
	ExpiresIn int64           `json:"expires_in,omitempty"` // ms, from when it is read; 0 when over or not known any more
	Short     []wire.Shortage `json:"short,omitempty"`
	Prices    []wire.Price    `json:"prices,omitempty"`    // CodePriceChanged: what the SKUs cost now
	PricedAt  int64           `json:"priced_at,omitempty"` // … under this planogram version
}

// answered is an Outcome as stored. The hold's remaining life is an interval of
// this process's monotonic clock: after a restart nobody can tell how much of it
// is left, and a wrong "still held" would be worse than none.
type answered struct {
	Outcome
	Seq  int64         `json:"seq"`
	Run  string        `json:"run,omitempty"` // which process stored it
	Mono time.Duration `json:"mono,omitempty"`
}

func (o *Outbox) encodeAnswered(id string, seq int64, out Outcome) ([]byte, error) {
	raw, ok := ident.Parse(id)
	if !ok {
		return nil, fmt.Errorf("answer for id %q, which is not a UUID", id)
	}
	a := answered{Outcome: out, Seq: seq}
	if out.ExpiresIn > 0 {
		a.Run, a.Mono = o.run, o.opt.Mono()
	}
	body, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return seal(append(append([]byte{1}, raw[:]...), body...)), nil
}

func (o *Outbox) decodeAnswered(v []byte) (id [16]byte, a answered, err error) {
	b, err := unseal(v)
	if err != nil {
		return id, a, err
	}
	if len(b) < 17 || b[0] != 1 {
		return id, a, errors.New("answer of an unknown schema")
	}
	if err := json.Unmarshal(b[17:], &a); err != nil {
		return id, a, fmt.Errorf("decode answer: %w", err)
	}
	if a.ExpiresIn > 0 {
		left := int64(0)
		if a.Run == o.run {
			left = a.ExpiresIn - (o.opt.Mono() - a.Mono).Milliseconds()
		}
		a.ExpiresIn = max(left, 0)
	}
	return [16]byte(b[1:17]), a, nil
}

// Answer is the cloud's answer to one row: a verdict, or (Verdict nil) an ack.
type Answer struct {
	Seq     int64
	Verdict *wire.Verdict
}

// judge turns an answer to a row into what is stored, and says whether the row
// leaves a tombstone: the cloud could not read it, which is our fault and must
// be seen by somebody, while an ordinary refusal is business as usual.
func judge(row Row, a Answer) (out Outcome, park string) {
	out.Kind = row.Kind()
	if a.Verdict == nil {
		if out.Kind == KindOrder {
			out.Code, out.Detail = wire.CodeInvalidRequest, "acknowledged without a verdict: the cloud could not read it"
			return out, out.Detail
		}
		out.Code = wire.Accepted
		return out, ""
	}
	v := a.Verdict
	out = Outcome{Kind: out.Kind, Code: v.Code, Detail: v.Detail, Status: v.Status, Amount: v.Amount,
		Currency: v.Currency, ExpiresIn: v.ExpiresIn, Short: v.Short, Prices: v.Prices, PricedAt: v.PricedAt}
	if unreadable(v.Code) || out.Kind == KindFact && v.Code != wire.Accepted {
		return out, "refused by the cloud: " + string(v.Code) + " " + v.Detail
	}
	return out, ""
}

func unreadable(c wire.Code) bool {
	return c == wire.CodeInvalidRequest || c == wire.CodeUnsupported || c == wire.CodeTooLarge
}
