package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/shared/wire"
)

const (
	insertReport = "INSERT INTO trade_line_report (order_sn, sku_id, command_id, result, units, fact_id, changed_at)"
	reportCols   = 7
)

// What is known of a line, besides what a cabinet says (wire.DispenseState).
const (
	reportWithdrawn = "withdrawn" // its command was taken back before any cabinet heard of it
	reportCounted   = "counted"   // never heard of, and then its slot was counted
)

// lineReport is what is known of a line of a command. The zero value is nothing.
type lineReport struct {
	result string // a wire.DispenseState, or one of the above
	units  int    // that dropped

	fact  string // the first report on the line, which says when it happened …
	epoch string // … by its place
	seq   int64  // … in the outbox
}

// final reports whether the cabinet has had its last word on the line.
func (r lineReport) final() bool {
	switch wire.DispenseState(r.result) {
	case wire.Dispensed, wire.Failed, wire.Expired:
		return true
	}
	return false
}

// yields reports whether something newer is to be believed. The first final word
// stands; that a cabinet cannot tell is news only where nothing is known.
func (r lineReport) yields(to lineReport) bool {
	if to.result == string(wire.Uncertain) {
		return r.result == "" || r.result == reportCounted
	}
	return !r.final()
}

// gone is how many of a line's units the books take to have left their slot.
func (r lineReport) gone(qty int) int64 {
	switch r.result {
	case string(wire.Uncertain), reportCounted:
		return int64(qty)
	}
	return int64(r.units)
}

// back is how many of a line's units are in stock again.
func (r lineReport) back(qty int) int64 {
	switch r.result {
	case string(wire.Failed), string(wire.Expired), reportWithdrawn:
		return int64(qty - r.units)
	}
	return 0
}

// correction is what has to be booked beside a line's news, in units there.
// What happened before a count is in the count. What happened after a count that
// took the line for gone (and found its units) has yet to be taken out.
func (r lineReport) correction(to lineReport, qty int, covered bool) int64 {
	moves := r.gone(qty) - to.gone(qty)
	switch {
	case covered:
		return -moves
	case r.result == reportCounted:
		return -to.gone(qty) - moves
	}
	return 0
}

// reportsOf reads what is known of an order's lines.
func reportsOf(ctx context.Context, tx *sql.Tx, id string) (map[string]lineReport, error) {
	rows, err := tx.QueryContext(ctx, `SELECT r.sku_id, r.result, r.units, r.fact_id, COALESCE(f.epoch, ''), COALESCE(f.seq, 0)
		FROM trade_line_report r LEFT JOIN trade_fact f ON f.fact_id = r.fact_id WHERE r.order_sn = ?`, id)
	if err != nil {
		return nil, fmt.Errorf("read line reports: %w", err)
	}
	defer rows.Close()
	out := map[string]lineReport{}
	for rows.Next() {
		var sku string
		var r lineReport
		if err := rows.Scan(&sku, &r.result, &r.units, &r.fact, &r.epoch, &r.seq); err != nil {
			return nil, fmt.Errorf("read line reports: %w", err)
		}
		out[sku] = r
	}
	return out, rows.Err()
}

// setReport keeps what is known of a line now. Its order's row is held.
func setReport(ctx context.Context, tx *sql.Tx, id, sku, command string, r lineReport, now int64) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM trade_line_report WHERE order_sn = ? AND sku_id = ?", id, sku)
	if err == nil {
		_, err = tx.ExecContext(ctx, insertReport+" VALUES (?,?,?,?,?,?,?)", id, sku, command, r.result, r.units, r.fact, now)
	}
	if err != nil {
		return fmt.Errorf("write line report: %w", err)
	}
	return nil
}
