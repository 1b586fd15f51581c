package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"vendline/cloud/order"
)

// RecordNews makes a fact durable that moves no stock and decides nothing: a
// line of the cabinet's own history.
func (l *Ledger) RecordNews(ctx context.Context, f Fact) error {
	return l.recordAlone(ctx, f, false, func(*sql.Tx, *rowSet) ([]order.Order, error) { return nil, nil })
}

// AckPlanogram notes that a cabinet works by a version of its planogram. The
// first word of it stands; a version that never was is nobody's.
func (l *Ledger) AckPlanogram(ctx context.Context, cabinet string, version int64) error {
	_, err := l.db.ExecContext(ctx, "UPDATE trade_planogram SET acked_at = ? WHERE cabinet_id = ? AND version = ? AND acked_at IS NULL", l.now(), cabinet, version)
	if err != nil {
		return fmt.Errorf("ledger: acknowledge planogram %d of %s: %w", version, cabinet, err)
	}
	return nil
}
