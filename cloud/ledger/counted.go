package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// countedAge is how far back counted sales are named, mostSales how many.
// Older ones are counted if their cabinet was told so.
const (
	countedAge = 6 * 60 * 60 * 1000 // ms
	mostSales  = 1000
	// underWay is how many earlier events of a cabinet may still be on their way
	// when one of them is booked: more than any uplink has in flight.
	underWay = 1024
)

// SellableCounting is Sellable with the sales of the cabinet's own that it counts,
// both of one instant.
func (l *Ledger) SellableCounting(ctx context.Context, cabinet string) (out map[string]int64, counted wire.Counted, err error) {
	err = l.inTx(ctx, l.dialect.snapshot, func(tx *sql.Tx) error {
		if out, err = l.sellable(ctx, tx, cabinet); err != nil {
			return err
		}
		counted, err = l.salesCounted(ctx, tx, cabinet)
		return err
	})
	return out, counted, err
}

// salesCounted names a cabinet's sales of its newest epoch. From is below whatever is
// booked after this instant.
func (l *Ledger) salesCounted(ctx context.Context, tx *sql.Tx, cabinet string) (wire.Counted, error) {
	c := wire.Counted{Sales: []int64{}}
	err := tx.QueryRowContext(ctx, "SELECT epoch, seq FROM trade_fact WHERE cabinet_id = ? AND epoch <> '' ORDER BY created_at DESC, seq DESC LIMIT 1", cabinet).Scan(&c.Epoch, &c.From)
	if errors.Is(err, sql.ErrNoRows) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read the newest fact: %w", err)
	}
	c.From++
	rows, err := tx.QueryContext(ctx, "SELECT seq, kind FROM trade_fact WHERE cabinet_id = ? AND epoch = ? AND created_at >= ?", cabinet, c.Epoch, l.now()-countedAge)
	if err != nil {
		return c, fmt.Errorf("read counted sales: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var kind string
		if err := rows.Scan(&seq, &kind); err != nil {
			return c, fmt.Errorf("read counted sales: %w", err)
		}
		c.From = min(c.From, seq)
		if kind == string(statement.Sale) {
			c.Sales = append(c.Sales, seq)
		}
	}
	c.From = max(0, c.From-underWay)
	slices.Sort(c.Sales)
	if n := len(c.Sales); n > mostSales {
		c.Sales = c.Sales[n-mostSales:]
		c.From = c.Sales[0]
	}
	return c, rows.Err()
}
