package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"vendline/cloud/reconcile"
)

// NoteFinding writes a finding down; when it returns nil, that is durable.
func (l *Ledger) NoteFinding(ctx context.Context, f reconcile.Finding) error {
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error { return l.noteFinding(ctx, tx, f) })
	if err != nil {
		return fmt.Errorf("ledger: note a finding: %w", err)
	}
	return nil
}

func (l *Ledger) noteFinding(ctx context.Context, tx *sql.Tx, f reconcile.Finding) error {
	var args []any
	for _, d := range f.Lines {
		args = append(args, f.ID, d.SKU, f.Cabinet, d.Expected, d.Found, string(f.State), f.At.UnixMilli(), l.now())
	}
	return insertRows(ctx, tx, "INSERT INTO reconcile_finding (finding_id, sku_id, cabinet_id, expected, found, state, at, changed_at)", 8, args, "")
}

// MarkFinding says what became of an open finding. That it is repaired also
// corrects another process that looked before the repair and took it for
// overtaken.
func (l *Ledger) MarkFinding(ctx context.Context, id string, s reconcile.State) error {
	from := string(reconcile.Open)
	if s == reconcile.Repaired {
		from = string(reconcile.Overtaken)
	}
	_, err := l.db.ExecContext(ctx, "UPDATE reconcile_finding SET state = ?, changed_at = ? WHERE finding_id = ? AND state IN (?, ?)",
		string(s), l.now(), id, string(reconcile.Open), from)
	if err != nil {
		return fmt.Errorf("ledger: mark a finding: %w", err)
	}
	return nil
}

// Findings returns up to n findings since a time, newest first.
func (l *Ledger) Findings(ctx context.Context, since time.Time, n int) ([]reconcile.Finding, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT finding_id, sku_id, cabinet_id, expected, found, state, at FROM reconcile_finding WHERE at >= ? ORDER BY at DESC, finding_id DESC, sku_id", since.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("ledger: read findings: %w", err)
	}
	defer rows.Close()
	var out []reconcile.Finding
	for rows.Next() {
		var f reconcile.Finding
		var d reconcile.Difference
		var at int64
		if err := rows.Scan(&f.ID, &d.SKU, &f.Cabinet, &d.Expected, &d.Found, &f.State, &at); err != nil {
			return nil, fmt.Errorf("ledger: read findings: %w", err)
		}
		if len(out) == 0 || out[len(out)-1].ID != f.ID {
			if len(out) == n {
				break
			}
			f.At = ms(at)
			out = append(out, f)
		}
		last := &out[len(out)-1]
		last.Lines = append(last.Lines, d)
	}
	return out, rows.Err()
}

// openFindings adds the findings of some cabinets of which it is not known what
// became.
func openFindings(ctx context.Context, tx *sql.Tx, cabinets []string, out map[string]reconcile.Books) error {
	rows, err := tx.QueryContext(ctx, "SELECT DISTINCT finding_id, cabinet_id, at FROM reconcile_finding WHERE state = ? AND cabinet_id IN ("+marks(len(cabinets))+")",
		append([]any{string(reconcile.Open)}, anys(cabinets)...)...)
	if err != nil {
		return fmt.Errorf("read open findings: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, c string
		var at int64
		if err := rows.Scan(&id, &c, &at); err != nil {
			return fmt.Errorf("read open findings: %w", err)
		}
		out[c].Open[id] = ms(at)
	}
	return rows.Err()
}
