package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// soldOutOffline is the fault of a slot that sold, while its cabinet was alone,
// what the books did not have: they are wrong until somebody counts or refills.
const soldOutOffline = "sold out offline"

// SlotFaults lists all slots that are out of order, by cabinet and slot: one
// read of a table that holds nothing else.
func (l *Ledger) SlotFaults(ctx context.Context) ([]order.SlotFault, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT cabinet_id, slot, sku_id, fault, since FROM trade_slot_fault ORDER BY cabinet_id, slot")
	if err != nil {
		return nil, fmt.Errorf("ledger: list slot faults: %w", err)
	}
	defer rows.Close()
	var out []order.SlotFault
	for rows.Next() {
		var f order.SlotFault
		var since int64
		if err := rows.Scan(&f.Cabinet, &f.Slot, &f.SKU, &f.Fault, &since); err != nil {
			return nil, fmt.Errorf("ledger: list slot faults: %w", err)
		}
		f.Since = ms(since)
		out = append(out, f)
	}
	return out, rows.Err()
}

// RecordSlotFault makes the news of a slot durable, once per id: it is out of
// order, or with an empty fault works again. Of two such facts of a slot the
// later one by its place in the outbox stands, whichever comes first.
//
// Promise: fact, suspension and case are committed together. Dies before: the
// cabinet sends it again.
func (l *Ledger) RecordSlotFault(ctx context.Context, f Fact, slot, fault string) error {
	return l.recordAlone(ctx, f, false, func(tx *sql.Tx, b *rowSet) ([]order.Order, error) {
		old, err := overtaken(ctx, tx, f, slot, b.now)
		if err != nil || old {
			return nil, err
		}
		if fault == "" {
			return nil, l.reopenSlot(ctx, tx, f.Cabinet, slot, b.now)
		}
		slots, err := slotsOf(ctx, tx, f.Cabinet)
		if err != nil {
			return nil, err
		}
		sku := slot
		if i := slices.IndexFunc(slots, func(s wire.Slot) bool { return s.Slot == slot }); i >= 0 {
			sku = slots[i].SKU
		}
		return nil, l.closeSlot(ctx, tx, order.SlotFault{Cabinet: f.Cabinet, Slot: slot, SKU: sku, Fault: fault}, "", b.now)
	})
}

// overtaking is how late news may come and still find what overtook it.
const overtaking = 7 * markAge

// overtaken reports whether something later about the slot is booked already: it
// was out of order, or works again, or a line of it failed.
func overtaken(ctx context.Context, tx *sql.Tx, f Fact, slot string, now int64) (bool, error) {
	rows, err := tx.QueryContext(ctx, "SELECT body FROM trade_fact WHERE cabinet_id = ? AND created_at >= ? AND epoch = ? AND seq > ? AND kind IN (?, ?)",
		f.Cabinet, now-overtaking, f.Epoch, f.Seq, string(SlotFault), string(Dispense))
	if err != nil {
		return false, fmt.Errorf("read later faults: %w", err)
	}
	defer rows.Close()
	var failed []string
	for rows.Next() {
		var body []byte
		var said wire.Fact
		if err := rows.Scan(&body); err != nil {
			return false, fmt.Errorf("read later faults: %w", err)
		}
		if json.Unmarshal(body, &said) != nil {
			continue
		}
		if said.Kind == wire.FactSlotFault && said.Slot == slot {
			return true, nil
		}
		if said.Dispense == nil {
			continue
		}
		for _, l := range said.Dispense.Lines {
			if l.State == wire.Failed {
				failed = append(failed, l.SKU)
			}
		}
	}
	if err := rows.Err(); err != nil || len(failed) == 0 {
		return false, err
	}
	for _, sku := range failed {
		if its, err := slotFor(ctx, tx, f.Cabinet, sku); err != nil || its == slot {
			return err == nil, err
		}
	}
	return false, nil
}

// closeSlot suspends a slot and calls a person. A slot that was repaired and
// fails again is the same case, opened again.
func (l *Ledger) closeSlot(ctx context.Context, tx *sql.Tx, f order.SlotFault, id string, now int64) error {
	res, err := tx.ExecContext(ctx, l.dialect.insertNew+"trade_slot_fault (cabinet_id, slot, sku_id, fault, since) VALUES (?,?,?,?,?)",
		f.Cabinet, f.Slot, f.SKU, short(f.Fault), now)
	if err != nil {
		return fmt.Errorf("suspend slot: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil {
		return err
	} else if n == 0 { // what a person sees is the latest news, but a fault outlives "sold out"
		_, err := tx.ExecContext(ctx, "UPDATE trade_slot_fault SET fault = ? WHERE cabinet_id = ? AND slot = ? AND ? <> ?",
			short(f.Fault), f.Cabinet, f.Slot, f.Fault, soldOutOffline)
		if err != nil {
			return fmt.Errorf("suspend slot: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE trade_case SET status = 'open', detail = ?, changed_at = ? WHERE kind = ? AND subject = ? AND status <> 'open'",
		short(f.Fault), now, string(order.CaseSlotFault), slotSubject(f.Cabinet, f.Slot)); err != nil {
		return fmt.Errorf("open case again: %w", err)
	}
	return l.openCase(ctx, tx, order.Case{Kind: order.CaseSlotFault, Subject: slotSubject(f.Cabinet, f.Slot), Order: id, Cabinet: f.Cabinet,
		Detail: f.SKU + ": " + f.Fault}, now)
}

// reopenSlot ends a suspension, and its case: the slot says that it works.
func (l *Ledger) reopenSlot(ctx context.Context, tx *sql.Tx, cabinet, slot string, now int64) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM trade_slot_fault WHERE cabinet_id = ? AND slot = ?", cabinet, slot)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE trade_case SET status = 'closed', note = 'the slot works again', changed_at = ? WHERE kind = ? AND subject = ? AND status = 'open'",
			now, string(order.CaseSlotFault), slotSubject(cabinet, slot))
	}
	if err != nil {
		return fmt.Errorf("end the suspension of a slot: %w", err)
	}
	return nil
}

// liftSoldOut sells SKUs again that were suspended because the books had none.
func liftSoldOut(ctx context.Context, tx *sql.Tx, cabinet string, skus []string) error {
	if len(skus) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM trade_slot_fault WHERE cabinet_id = ? AND fault = ? AND sku_id IN ("+marks(len(skus))+")",
		append([]any{cabinet, soldOutOffline}, anys(skus)...)...)
	if err != nil {
		return fmt.Errorf("end the suspension of a product: %w", err)
	}
	return nil
}

// slotSubject is what a slot's case is about, cut to its column.
func slotSubject(cabinet, slot string) string {
	s := cabinet + "/" + slot
	return s[:min(len(s), 80)]
}

// slotFor is the slot of a SKU: by the planogram that the cabinet works by, or
// the SKU's own name where there is none.
func slotFor(ctx context.Context, tx *sql.Tx, cabinet, sku string) (string, error) {
	slots, err := slotsOf(ctx, tx, cabinet)
	if i := slices.IndexFunc(slots, func(s wire.Slot) bool { return s.SKU == sku }); i >= 0 {
		return slots[i].Slot, nil
	}
	return sku, err
}

// slotsOf is the planogram that a cabinet has acknowledged last.
func slotsOf(ctx context.Context, tx *sql.Tx, cabinet string) ([]wire.Slot, error) {
	var body []byte
	err := tx.QueryRowContext(ctx, "SELECT body FROM trade_planogram WHERE cabinet_id = ? AND acked_at IS NOT NULL ORDER BY version DESC LIMIT 1", cabinet).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read planogram: %w", err)
	}
	var p wire.Planogram
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("read planogram of %s: %w", cabinet, err)
	}
	return p.Slots, nil
}
