package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/statement"
)

// takeBack withdraws commands for a SKU, newest first, that no cabinet can have
// heard of, until the shortage is over. It returns what is left of it. The
// cabinet's row is held.
func (l *Ledger) takeBack(ctx context.Context, tx *sql.Tx, b *rowSet, out *statement.Shortage, short int64) (int64, error) {
	open, err := neverOffered(ctx, tx, out.Cabinet, out.SKU)
	if err != nil {
		return short, err
	}
	for _, c := range open {
		if short <= 0 {
			break
		}
		v, err := l.lockVend(ctx, tx, b, c.order, c.id)
		if err != nil {
			return short, err
		}
		if !v.withdrawable() {
			continue
		}
		if err := v.withdraw(ctx, soldOutOffline); err != nil {
			return short, err
		}
		err = l.openCase(ctx, tx, order.Case{Kind: order.CaseShortage, Subject: c.order, Order: c.order, Cabinet: out.Cabinet,
			Detail: "paid, and there is no " + out.SKU + " left: refunded"}, b.now)
		if err != nil {
			return short, err
		}
		out.Withdrawn = append(out.Withdrawn, v.order)
		short -= units(v.order, out.SKU)
	}
	return short, nil
}

// neverOffered lists the commands for a SKU that were never offered, newest
// first. It may read from a snapshot; what it finds is asked again under lock.
func neverOffered(ctx context.Context, tx *sql.Tx, cabinet, sku string) ([]commandRow, error) {
	rows, err := tx.QueryContext(ctx, `SELECT command_id, order_sn FROM trade_command WHERE cabinet_id = ? AND status = 'open' AND offered_at = 0
		AND order_sn IN (SELECT order_sn FROM trade_order_line WHERE sku_id = ?) ORDER BY created_at DESC, command_id DESC`, cabinet, sku)
	if err != nil {
		return nil, fmt.Errorf("read commands never offered: %w", err)
	}
	defer rows.Close()
	var out []commandRow
	for rows.Next() {
		var c commandRow
		if err := rows.Scan(&c.id, &c.order); err != nil {
			return nil, fmt.Errorf("read commands never offered: %w", err)
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

// soldOut suspends a SKU that the cabinet sold on its own beyond what the books
// had: they are wrong about it, until somebody counts it or refills it.
func (l *Ledger) soldOut(ctx context.Context, tx *sql.Tx, b *rowSet, cabinet, sku string) error {
	var sold int64
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM trade_fact f JOIN trade_fact_line l ON l.fact_id = f.fact_id
		WHERE f.cabinet_id = ? AND f.created_at >= ? AND f.kind = 'SALE' AND l.sku_id = ?`, cabinet, b.now-markAge, sku).Scan(&sold)
	if err != nil || sold == 0 {
		return err
	}
	slot, err := slotFor(ctx, tx, cabinet, sku)
	if err != nil {
		return err
	}
	return l.closeSlot(ctx, tx, order.SlotFault{Cabinet: cabinet, Slot: slot, SKU: sku, Fault: soldOutOffline}, "", b.now)
}
