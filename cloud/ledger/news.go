package ledger

import (
	"context"
	"database/sql"

	"vendline/cloud/order"
)

// RecordNews makes a fact durable that moves no stock and decides nothing: a
// line of the cabinet's own history.
func (l *Ledger) RecordNews(ctx context.Context, f Fact) error {
	return l.recordAlone(ctx, f, false, func(*sql.Tx, *rowSet) ([]order.Order, error) { return nil, nil })
}
