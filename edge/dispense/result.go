package dispense

import (
	"context"
	"fmt"
	"slices"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// Result is what the firmware says of one line.
type Result struct {
	SKU    string
	State  wire.DispenseState
	Units  *int // nil: all of the line's when dispensed, else none
	Detail string
}

// Result takes results of some lines of a command. Once every line has one, or
// final is set (a line without is then unknown), the command is done and the
// event that says so is in the outbox. The same result again changes nothing;
// another one for a line that has one is ErrConflict, unless the line was
// unknown: then the better one stands, and a further event corrects the first.
//
// Promised by the result step: what was answered is on the disk, and "done" and
// its event are one commit. Dying right before leaves the command as it was, and
// the firmware, which got no answer, says it again; or it is reported unknown
// after the next start, and its word then corrects that. Dying right after
// leaves the event in the outbox: it is sent until the cloud has it.
func (j *Journal) Result(ctx context.Context, id string, lines []Result, final bool) (c Command, err error) {
	err = j.box.Write(context.WithoutCancel(ctx), StepResult, func(tx *outbox.Tx) error {
		r, known, err := get(tx.Books, id)
		switch {
		case err != nil:
			return err
		case !known:
			return ErrUnknown
		case r.State == Ready:
			return ErrState
		}
		changed, err := r.apply(lines)
		if err != nil {
			return err
		}
		if final && !r.complete() {
			r.fill(wire.Uncertain, "")
			changed = true
		}
		if changed {
			err = j.store(tx, id, &r)
		}
		c = r.command(id)
		return err
	})
	return c, err
}

// store keeps r, which has new results.
func (j *Journal) store(tx *outbox.Tx, id string, r *record) error {
	if !r.complete() {
		tx.OnCommit(func() { j.handed(id) }) // the firmware is at work: its time begins anew
		return put(tx, id, *r)
	}
	corrects := r.State == Done
	if err := j.report(tx, id, r); err != nil {
		return err
	}
	if corrects {
		return put(tx, id, *r)
	}
	r.State = Done
	return j.finish(tx, id, *r)
}

// apply merges results into r, all or none, and reports whether that changed it.
func (r *record) apply(results []Result) (changed bool, err error) {
	lines := slices.Clone(r.Lines)
	for i, res := range results {
		at := slices.IndexFunc(lines, func(l Line) bool { return l.SKU == res.SKU })
		if at < 0 {
			return false, field(i, "sku", "is not in the command")
		}
		if slices.ContainsFunc(results[:i], func(before Result) bool { return before.SKU == res.SKU }) {
			return false, field(i, "sku", "stands in two lines")
		}
		units, err := res.units(i, lines[at].Qty)
		if err != nil {
			return false, err
		}
		switch l := &lines[at]; {
		case l.State == res.State && l.Units == units:
		case l.State != "" && (l.State != wire.Uncertain || res.State == wire.Uncertain):
			return false, fmt.Errorf("%w: %s is %s with %d units", ErrConflict, l.SKU, l.State, l.Units)
		default:
			l.State, l.Units, l.Detail, changed = res.State, units, res.Detail, true
		}
	}
	r.Lines = lines
	return changed, nil
}

// units checks what is said of a line against what it asked for.
func (res Result) units(i, qty int) (int, error) {
	n := 0
	switch {
	case res.Units != nil:
		n = *res.Units
	case res.State == wire.Dispensed:
		n = qty
	}
	switch {
	case len(res.Detail) > wire.MaxDetail:
		return 0, field(i, "detail", fmt.Sprintf("must be at most %d bytes", wire.MaxDetail))
	case res.State == wire.Dispensed && n != qty:
		return 0, field(i, "units", fmt.Sprintf("must be %d when dispensed; fewer means failed", qty))
	case res.State == wire.Failed && (n < 0 || n >= qty):
		return 0, field(i, "units", fmt.Sprintf("must be from 0 to %d when failed", qty-1))
	case res.State == wire.Uncertain && (n < 0 || n > qty):
		return 0, field(i, "units", fmt.Sprintf("must be from 0 to %d", qty))
	case res.State != wire.Dispensed && res.State != wire.Failed && res.State != wire.Uncertain:
		return 0, field(i, "state", "must be dispensed, failed or unknown")
	}
	return n, nil
}

func field(i int, name, problem string) error {
	return &wire.FieldError{Path: fmt.Sprintf("lines[%d].%s", i, name), Problem: problem}
}
