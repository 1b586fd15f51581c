package dispense

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// State is how far a command is.
type State string

// States of a command in the journal.
const (
	Ready      State = "ready"      // known, not handed out
	Dispensing State = "dispensing" // handed out; motors may have turned
	Done       State = "done"       // every line has a result
)

// record is a command as the journal keeps it.
type record struct {
	Number   int64         `json:"n"` // order of arrival
	Order    string        `json:"order"`
	State    State         `json:"state"`
	Lines    []Line        `json:"lines"`
	Life     time.Duration `json:"life"`               // longest that an answer gave it
	Facts    int           `json:"facts"`              // reports sent
	Run      string        `json:"run,omitempty"`      // which process finished it
	Finished time.Duration `json:"finished,omitempty"` // … and when, by its clock
}

func newRecord(v wire.Vend) record {
	r := record{Order: v.Order, State: Ready, Life: life(v)}
	for _, l := range v.Lines {
		r.Lines = append(r.Lines, Line{SKU: l.SKU, Qty: l.Qty})
	}
	return r
}

// Line is one line of a command and what became of it.
type Line struct {
	SKU    string             `json:"sku"`
	Qty    int                `json:"qty"`
	State  wire.DispenseState `json:"state,omitempty"` // empty: no result yet
	Units  int                `json:"units"`           // that dropped
	Detail string             `json:"detail,omitempty"`
}

// recordSchema is the first byte of a stored record.
const recordSchema = 1

func (r record) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("dispense: encode record: %w", err)
	}
	return append([]byte{recordSchema}, b...), nil
}

func decodeRecord(v []byte) (r record, err error) {
	if len(v) == 0 || v[0] != recordSchema {
		return r, fmt.Errorf("%w: a command of another schema", outbox.ErrUnreadable)
	}
	if err := json.Unmarshal(v[1:], &r); err != nil {
		return r, fmt.Errorf("%w: %v", outbox.ErrUnreadable, err)
	}
	return r, nil
}

// get reads a command. One that can not be read counts as known, and as done: who
// can not tell whether it was handed out must not hand it out.
func get(b outbox.Books, id string) (r record, known bool, err error) {
	raw, ok := ident.Parse(id)
	if !ok {
		return r, false, nil
	}
	v, err := b.Get(outbox.BookCommands, raw[:])
	if err != nil || v == nil {
		return r, err != nil, err
	}
	r, err = decodeRecord(v)
	return r, true, err
}

func put(tx *outbox.Tx, id string, r record) error {
	v, err := r.encode()
	if err != nil {
		return err
	}
	raw, _ := ident.Parse(id) // checked when it arrived
	return tx.Put(outbox.BookCommands, raw[:], v)
}

// complete reports whether every line has a result.
func (r record) complete() bool {
	return !slices.ContainsFunc(r.Lines, func(l Line) bool { return l.State == "" })
}

// fill gives every line without a result this one.
func (r *record) fill(state wire.DispenseState, detail string) {
	r.Lines = slices.Clone(r.Lines)
	for i := range r.Lines {
		if l := &r.Lines[i]; l.State == "" {
			l.State, l.Detail = state, detail
		}
	}
}

// room is what the reports on a command may take of the file: the result and its
// correction at their longest, and the pages around them.
func (r record) room() int64 {
	n := 512
	for _, l := range r.Lines {
		n += 6*wire.MaxDetail + 2*len(l.SKU) + 128
	}
	return 2*int64(n) + 16<<10
}

// fact is the report on a command as it stands.
func (r record) fact(id string) *wire.Fact {
	d := &wire.Dispense{Command: id, Order: r.Order}
	for _, l := range r.Lines {
		d.Lines = append(d.Lines, wire.DispenseLine{SKU: l.SKU, State: l.State, Units: l.Units, Detail: l.Detail})
	}
	return &wire.Fact{Kind: wire.FactDispense, Dispense: d}
}
