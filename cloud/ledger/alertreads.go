package ledger

import (
	"context"
	"fmt"
	"time"

	"vendline/cloud/alert"
	"vendline/cloud/statement"
)

// mostGrouped bounds what a condition reads.
const mostGrouped = 5000

// ShortageFacts are the shortages that nobody could lose since a time, by their
// cabinets.
func (l *Ledger) ShortageFacts(ctx context.Context, since time.Time, _ int) (alert.Group, error) {
	return l.group(ctx, "SELECT cabinet_id FROM trade_fact WHERE created_at >= ? AND kind = ? AND cause = ? ORDER BY created_at DESC LIMIT "+itoa(mostGrouped),
		since.UnixMilli(), string(statement.Drift), causeShort)
}

// DriftFacts are the other differences that were booked since a time.
func (l *Ledger) DriftFacts(ctx context.Context, since time.Time, _ int) (alert.Group, error) {
	return l.group(ctx, "SELECT cabinet_id FROM trade_fact WHERE created_at >= ? AND kind = ? AND cause <> ? ORDER BY created_at DESC LIMIT "+itoa(mostGrouped),
		since.UnixMilli(), string(statement.Drift), causeShort)
}

// OpenCases are the open cases of some kinds, or of all, that are older than age.
func (l *Ledger) OpenCases(ctx context.Context, kinds []string, age time.Duration, _ int) (alert.Group, error) {
	where, args := "", []any{l.now() - age.Milliseconds()}
	if len(kinds) > 0 {
		where, args = " AND kind IN ("+marks(len(kinds))+")", append(args, anys(kinds)...)
	}
	return l.group(ctx, "SELECT CASE WHEN order_sn <> '' THEN order_sn ELSE subject END FROM trade_case WHERE status = 'open' AND created_at <= ?"+where+
		" ORDER BY created_at DESC LIMIT "+itoa(mostGrouped), args...)
}

func (l *Ledger) group(ctx context.Context, query string, args ...any) (alert.Group, error) {
	rows, err := l.read.QueryContext(ctx, query, args...)
	if err != nil {
		return alert.Group{}, fmt.Errorf("ledger: read for an alert: %w", err)
	}
	defer rows.Close()
	var g alert.Group
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return alert.Group{}, fmt.Errorf("ledger: read for an alert: %w", err)
		}
		g.Add(name)
	}
	return g, rows.Err()
}
