package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"vendline/cloud/statement"
)

// stockIDs remembers the id of each stock row. Ids never change and rows never
// go, so an entry is right for ever.
type stockIDs struct {
	mu  sync.RWMutex
	ids map[stockKey]int64
}

// stockRowIDs finds the ids of all lines' rows, asking the database only for
// rows not met before. A fact about a product new to the cabinet makes its row.
func (l *Ledger) stockRowIDs(ctx context.Context, tx *sql.Tx, sts []statement.Statement) ([]int64, error) {
	seen := map[stockKey]struct{}{}
	var ids []int64
	missing := map[string][]any{} // cabinet → SKUs
	l.stockID.mu.RLock()
	for _, s := range sts {
		for _, w := range s.Lines {
			k := stockKey{s.Cabinet, w.SKU}
			if _, dup := seen[k]; dup {
				continue
			}
			seen[k] = struct{}{}
			if id, ok := l.stockID.ids[k]; ok {
				ids = append(ids, id)
			} else {
				missing[k.cabinet] = append(missing[k.cabinet], k.sku)
			}
		}
	}
	l.stockID.mu.RUnlock()
	if len(missing) == 0 {
		slices.Sort(ids)
		return ids, nil
	}
	for _, s := range sts {
		if s.State.Fact() && missing[s.Cabinet] != nil {
			if err := l.makeStock(ctx, tx, s); err != nil {
				return nil, err
			}
		}
	}
	for cabinet, skus := range missing {
		found, err := l.findStock(ctx, tx, cabinet, skus)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	return ids, nil
}

func (l *Ledger) makeStock(ctx context.Context, tx *sql.Tx, s statement.Statement) error {
	var args []any
	for _, w := range s.Lines {
		args = append(args, s.Cabinet, w.SKU, 0, 0, 0, 0, 0)
	}
	err := insertRows(ctx, tx, l.dialect.insertNew+"trade_sku_stock (cabinet_id, sku_id, total, available, locked, sold, version)", 7, args, "")
	if err != nil {
		return fmt.Errorf("make stock rows: %w", err)
	}
	return nil
}

// findStock asks for row ids. Only ids seen as committed may be remembered: a
// row made in this very transaction may still be undone.
func (l *Ledger) findStock(ctx context.Context, tx *sql.Tx, cabinet string, skus []any) ([]int64, error) {
	rows, err := tx.QueryContext(ctx, "SELECT id, sku_id, version FROM trade_sku_stock WHERE cabinet_id = ? AND sku_id IN ("+marks(len(skus))+")",
		append([]any{cabinet}, skus...)...)
	if err != nil {
		return nil, fmt.Errorf("find stock rows: %w", err)
	}
	defer rows.Close()
	var ids []int64
	l.stockID.mu.Lock()
	defer l.stockID.mu.Unlock()
	for rows.Next() {
		var id, version int64
		var sku string
		if err := rows.Scan(&id, &sku, &version); err != nil {
			return nil, fmt.Errorf("find stock rows: %w", err)
		}
		ids = append(ids, id)
		if version > 0 {
			l.stockID.ids[stockKey{cabinet, sku}] = id
		}
	}
	return ids, rows.Err()
}
