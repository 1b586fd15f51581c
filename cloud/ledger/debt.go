package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// Causes of facts of ours about a shortage. A shortage that nobody could lose is
// booked as units that must have been there, or else somebody will yet go
// without. Until a count says which, it is a debt: units that come back to stock
// as somebody's promise ends were never there, and pay it.
const (
	causeShort    = "shortage nobody could lose"
	causeMadeGood = "shortage made good"
	causeCounted  = "shortage, counted since"
)

// debtAge is how far back a debt is looked for; a cabinet is counted sooner.
const debtAge = 30 * markAge

// payDebts books units that are about to come back to stock as gone, as far as
// a shortage of theirs is owed.
func (l *Ledger) payDebts(ctx context.Context, tx *sql.Tx, b *rowSet, cabinet, from string, back skuUnits) error {
	if len(back) == 0 {
		return nil
	}
	skus := sortedKeys(back)
	owed := skuUnits{}
	args := append([]any{cabinet, b.now - debtAge, causeShort, causeMadeGood}, anys(skus)...)
	err := sumUnits(ctx, tx, owed, `SELECT l.sku_id, SUM(CASE f.kind WHEN 'DRIFT' THEN l.qty ELSE -l.qty END) FROM trade_fact f
		JOIN trade_fact_line l ON l.fact_id = f.fact_id
		WHERE f.cabinet_id = ? AND f.created_at >= ? AND f.cause IN (?, ?) AND l.sku_id IN (`+marks(len(skus))+") GROUP BY l.sku_id", args...)
	if err != nil {
		return fmt.Errorf("read shortages: %w", err)
	}
	for _, sku := range skus {
		n := min(owed[sku], back[sku])
		if n <= 0 {
			continue
		}
		f := Fact{ID: derived(from, sku, causeMadeGood), Cabinet: cabinet, State: statement.Loss, Cause: causeMadeGood, Lines: []wire.Line{{SKU: sku, Qty: int(n)}}}
		if err := l.addFact(ctx, tx, b, f); err != nil {
			return fmt.Errorf("make a shortage good: %w", err)
		}
	}
	return nil
}

// settleDebts forgets shortages of SKUs that have been counted.
func settleDebts(ctx context.Context, tx *sql.Tx, cabinet string, skus []string, now int64) error {
	args := append([]any{causeCounted, cabinet, now - debtAge, causeShort, causeMadeGood}, anys(skus)...)
	_, err := tx.ExecContext(ctx, `UPDATE trade_fact SET cause = ? WHERE cabinet_id = ? AND created_at >= ? AND cause IN (?, ?)
		AND fact_id IN (SELECT fact_id FROM trade_fact_line WHERE sku_id IN (`+marks(len(skus))+"))", args...)
	if err != nil {
		return fmt.Errorf("settle shortages: %w", err)
	}
	return nil
}

// restocked follows up on units that were put in: their SKUs are sold again, and
// if the cabinet has sold some of them before we heard of them, a shortage that
// was booked for those sales was none.
func (l *Ledger) restocked(ctx context.Context, tx *sql.Tx, b *rowSet, f Fact, known counts) error {
	if len(f.Lines) == 0 {
		return nil
	}
	skus, back := make([]string, len(f.Lines)), skuUnits{}
	for i, w := range f.Lines {
		skus[i] = w.SKU
		if !known.cover(f.Cabinet, f.Epoch, w.SKU, f.Seq) {
			back[w.SKU] = int64(w.Qty)
		}
	}
	if err := liftSoldOut(ctx, tx, f.Cabinet, skus); err != nil || f.Epoch == "" {
		return err
	}
	var later int64
	err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM trade_fact WHERE cabinet_id = ? AND epoch = ? AND seq > ? AND kind IN ('SALE', 'DISPENSE')",
		f.Cabinet, f.Epoch, f.Seq).Scan(&later)
	if err != nil {
		return fmt.Errorf("read later sales: %w", err)
	}
	if later == 0 {
		return nil
	}
	return l.payDebts(ctx, tx, b, f.Cabinet, f.ID, back)
}
