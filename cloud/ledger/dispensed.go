package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// RecordDispense makes durable what became of a command at its cabinet, once per
// id: the lines' states, the refund of what did not drop, its return to stock,
// the suspension of a slot that failed. A command of which every line has its
// last word is done. What contradicts the command is a *order.Refusal.
//
// A line that the cabinet cannot tell about waits for a better word until its
// command's time is over; then it is refunded too. A word that comes after the
// refund moves stock, and never money a second time.
//
// Promise: all of it is one transaction under the locks of cabinet and order.
// Dies before: the cabinet sends its report again. Dies after: it is sent again
// and is here; the refund's row is carried out by its runner.
func (l *Ledger) RecordDispense(ctx context.Context, f Fact, d wire.Dispense) error {
	return l.recordAlone(ctx, f, false, func(tx *sql.Tx, b *rowSet) ([]order.Order, error) {
		v, err := l.lockVend(ctx, tx, b, d.Order, d.Command)
		switch {
		case errors.Is(err, errNoCommand):
			return nil, invalid("there is no command %s of order %s", d.Command, d.Order)
		case err != nil:
			return nil, err
		case v.command.cabinet != f.Cabinet:
			return nil, invalid("command %s is another cabinet's", d.Command)
		}
		if err := v.hear(ctx, f, d.Lines); err != nil {
			return nil, err
		}
		return []order.Order{v.order}, nil
	})
}

func invalid(format string, args ...any) error {
	return &order.Refusal{Code: wire.CodeInvalidRequest, Detail: fmt.Sprintf(format, args...)}
}

// hear books a report.
func (v *vend) hear(ctx context.Context, f Fact, said []wire.DispenseLine) error {
	firsts := []*factItem{{f}}
	for _, r := range v.reports {
		firsts = append(firsts, &factItem{Fact{Cabinet: f.Cabinet, Epoch: r.epoch}})
	}
	known, err := v.l.counted(ctx, v.tx, firsts...)
	if err != nil {
		return err
	}
	correct := skuUnits{}
	for _, s := range said {
		l := v.line(s.SKU)
		if l == nil {
			return invalid("the order has no line %s", s.SKU)
		}
		if s.Units > l.Qty || s.State == wire.Dispensed && s.Units != l.Qty {
			return invalid("%d units of %s cannot have dropped: %d were ordered", s.Units, s.SKU, l.Qty)
		}
		was := v.reports[s.SKU]
		now := lineReport{result: string(s.State), units: s.Units, fact: f.ID, epoch: f.Epoch, seq: f.Seq}
		if !was.yields(now) {
			if err := v.redate(ctx, l, now, known, correct); err != nil {
				return err
			}
			continue
		}
		if was.result == string(wire.Uncertain) { // a better word on what had happened then
			now.fact, now.epoch, now.seq = was.fact, was.epoch, was.seq
		}
		if n := was.correction(now, l.Qty, known.cover(f.Cabinet, now.epoch, s.SKU, now.seq)); n != 0 {
			correct[s.SKU] += n
		}
		if err := v.conclude(ctx, l, now, s.Detail); err != nil {
			return err
		}
	}
	if err := v.giveBack(ctx, f.ID); err != nil {
		return err
	}
	if err := v.l.addDifference(ctx, v.tx, v.b, f.Cabinet, f.ID, "counted before it came", correct); err != nil {
		return err
	}
	// Units that can be sold again, however that came about: somebody's promise is
	// over, and if more was promised than there was, it was that one.
	freed := skuUnits{}
	for _, some := range []skuUnits{v.back, correct} {
		for sku, n := range some {
			freed[sku] += n
		}
	}
	if err := v.l.payDebts(ctx, v.tx, v.b, f.Cabinet, f.ID, freed); err != nil {
		return err
	}
	return v.settle(ctx)
}

// redate takes note that a line's first report, which says when it happened, is
// an earlier one than was thought: it came after a better word on the line.
func (v *vend) redate(ctx context.Context, l *order.Line, first lineReport, known counts, correct skuUnits) error {
	r := v.reports[l.SKU]
	if r.epoch != first.epoch || r.seq <= first.seq {
		return nil
	}
	before := known.cover(v.order.Cabinet, r.epoch, l.SKU, r.seq)
	r.fact, r.seq = first.fact, first.seq
	if !before && known.cover(v.order.Cabinet, r.epoch, l.SKU, r.seq) {
		correct[l.SKU] += r.gone(l.Qty) // a count had found it gone already
	}
	v.reports[l.SKU] = r
	return setReport(ctx, v.tx, v.order.ID, l.SKU, v.command.id, r, v.b.now)
}

// conclude does what follows from a line's news.
func (v *vend) conclude(ctx context.Context, l *order.Line, r lineReport, detail string) error {
	state := map[wire.DispenseState]order.LineState{wire.Dispensed: order.LineDispensed, wire.Uncertain: order.LineUnknown}[wire.DispenseState(r.result)]
	if state == "" {
		state = order.LineFailed
	}
	if err := v.learn(ctx, l, r, state, detail); err != nil {
		return err
	}
	switch wire.DispenseState(r.result) {
	case wire.Uncertain:
		return v.call(ctx, order.CaseLineUnknown, l, "the cabinet cannot tell whether it dropped")
	case wire.Failed:
		slot, err := slotFor(ctx, v.tx, v.order.Cabinet, l.SKU)
		freed := false // by news that was booked first and came later at the cabinet
		if err == nil {
			freed, err = overtaken(ctx, v.tx, Fact{Cabinet: v.order.Cabinet, Epoch: r.epoch, Seq: r.seq}, slot, v.b.now)
		}
		if err == nil && !freed {
			fault := order.SlotFault{Cabinet: v.order.Cabinet, Slot: slot, SKU: l.SKU, Fault: "did not dispense: " + detail}
			err = v.l.closeSlot(ctx, v.tx, fault, v.order.ID, v.b.now)
		}
		if err != nil {
			return err
		}
	}
	if err := v.refund(ctx, l, "not dispensed"); err != nil {
		return err
	}
	over, err := v.overpaid(ctx, l)
	if err != nil || !over {
		return err
	}
	return v.call(ctx, order.CaseVendedRefunded, l, fmt.Sprintf("%d of %d dropped, and more had been refunded", l.Dropped, l.Qty))
}

// call opens a case about a line.
func (v *vend) call(ctx context.Context, kind order.CaseKind, l *order.Line, detail string) error {
	subject := v.order.ID + "/" + l.SKU
	return v.l.openCase(ctx, v.tx, order.Case{Kind: kind, Subject: subject[:min(len(subject), 80)], Order: v.order.ID, Cabinet: v.order.Cabinet,
		Detail: l.SKU + ": " + detail}, v.b.now)
}

// settle moves the command to where its lines are.
func (v *vend) settle(ctx context.Context) error {
	silent, unsure := 0, 0
	for _, l := range v.order.Lines {
		switch v.reports[l.SKU].result {
		case "":
			silent++
		case string(wire.Uncertain):
			unsure++
		}
	}
	switch v.command.status {
	case commandOpen, commandReported:
		if silent+unsure > 0 {
			return v.close(ctx, commandReported)
		}
		return v.close(ctx, commandDone)
	case commandAbandoned:
		if silent == 0 {
			return v.close(ctx, commandDone)
		}
	}
	return nil
}
