package scan

import (
	"errors"
	"net/http"
	"strings"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// postedFact is the body of POST /v1/facts. Which fields it has depends on kind.
type postedFact struct {
	ID     *string      `json:"id"`
	Kind   string       `json:"kind"`
	Lines  []wire.Line  `json:"lines"`           // restock, sale
	Before []wire.Count `json:"quantity_before"` // restock: what was found before units were put in
	Counts []wire.Count `json:"counts"`          // stocktake
	Upto   int64        `json:"upto"`            // with counts: the last event that they have seen
	Slot   string       `json:"slot"`            // slot_fault
	Fault  *string      `json:"fault"`           // slot_fault: "" means that it works again
	Door   string       `json:"door"`            // door: open or closed
}

func (a *api) postFact(w http.ResponseWriter, r *http.Request) error {
	var in postedFact
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	f, err := in.fact()
	if err != nil {
		return err
	}
	return a.keep(w, r, in.ID, outbox.Entry{Fact: f})
}

func (in postedFact) fact() (*wire.Fact, error) {
	f := &wire.Fact{Kind: wire.FactKind(in.Kind), Lines: in.Lines, Counts: in.Counts, Upto: in.Upto, Slot: in.Slot, Door: in.Door}
	switch f.Kind {
	case wire.FactDispense:
		return nil, &wire.FieldError{Path: "kind", Problem: "can not be dispense: POST /v1/commands/{id}/result, and the agent tells the cloud"}
	case wire.FactPlanogram:
		return nil, &wire.FieldError{Path: "kind", Problem: "can not be planogram: the agent tells the cloud by itself which version is in force"}
	case wire.FactRestock, wire.FactSale, wire.FactStocktake, wire.FactSlotFault, wire.FactDoor:
	default:
		return nil, &wire.FieldError{Path: "kind", Problem: "must be restock, sale, stocktake, slot_fault or door"}
	}
	if in.Before != nil {
		if f.Kind != wire.FactRestock {
			return nil, &wire.FieldError{Path: "quantity_before", Problem: "has no place in a " + in.Kind + " fact"}
		}
		f.Counts = in.Before
	}
	if f.Kind == wire.FactRestock && in.Counts != nil {
		return nil, &wire.FieldError{Path: "counts", Problem: "is called quantity_before in a restock"}
	}
	if f.Kind == wire.FactRestock && in.Upto != 0 && len(f.Counts) == 0 {
		return nil, &wire.FieldError{Path: "upto", Problem: "says what quantity_before has seen, which is missing"}
	}
	switch slot := f.Kind == wire.FactSlotFault; {
	case slot && in.Fault == nil:
		return nil, &wire.FieldError{Path: "fault", Problem: `is missing; "" means that the slot works again`}
	case !slot && in.Fault != nil:
		return nil, &wire.FieldError{Path: "fault", Problem: "has no place in a " + in.Kind + " fact"}
	case slot:
		f.Fault = *in.Fault
	}
	return f, in.blame(f.Check())
}

// blame names the field by the name that the firmware knows it by.
func (in postedFact) blame(err error) error {
	var field *wire.FieldError
	if !errors.As(err, &field) {
		return err
	}
	path := strings.TrimPrefix(field.Path, "fact.")
	if in.Before != nil {
		path = strings.Replace(path, "counts", "quantity_before", 1)
	}
	return &wire.FieldError{Path: path, Problem: field.Problem}
}
