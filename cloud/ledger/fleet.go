package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"vendline/cloud/order"
)

// StockRow is one stock row as it stands.
type StockRow struct {
	SKU       string
	Total     int64
	Available int64
	Locked    int64
	Sold      int64
	Version   int64
}

// Cabinets lists all cabinet ids in order.
func (l *Ledger) Cabinets(ctx context.Context) ([]string, error) {
	ids, err := cabinetsIn(ctx, l.read)
	if err != nil {
		return nil, fmt.Errorf("ledger: list cabinets: %w", err)
	}
	return ids, nil
}

func cabinetsIn(ctx context.Context, q querier) ([]string, error) {
	rows, err := q.QueryContext(ctx, "SELECT cabinet_id FROM trade_cabinet WHERE cabinet_id <> ? ORDER BY cabinet_id", fleetRow)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var c string
		if err := rows.Scan(&c); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

func (l *Ledger) hasCabinet(ctx context.Context, cabinet string) (bool, error) {
	var one int
	err := l.read.QueryRowContext(ctx, "SELECT 1 FROM trade_cabinet WHERE cabinet_id = ?", cabinet).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Stock lists the stock rows of a cabinet by SKU.
func (l *Ledger) Stock(ctx context.Context, cabinet string) ([]StockRow, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT sku_id, total, available, locked, sold, version FROM trade_sku_stock WHERE cabinet_id = ? ORDER BY sku_id", cabinet)
	if err != nil {
		return nil, fmt.Errorf("ledger: read stock: %w", err)
	}
	defer rows.Close()
	var out []StockRow
	for rows.Next() {
		var r StockRow
		if err := rows.Scan(&r.SKU, &r.Total, &r.Available, &r.Locked, &r.Sold, &r.Version); err != nil {
			return nil, fmt.Errorf("ledger: read stock: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Products lists the catalogue by SKU.
func (l *Ledger) Products(ctx context.Context) ([]order.Product, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT sku_id, name, price, currency, user_limit FROM trade_sku ORDER BY sku_id")
	if err != nil {
		return nil, fmt.Errorf("ledger: read catalogue: %w", err)
	}
	defer rows.Close()
	var out []order.Product
	for rows.Next() {
		var p order.Product
		if err := rows.Scan(&p.SKU, &p.Name, &p.Price, &p.Currency, &p.UserLimit); err != nil {
			return nil, fmt.Errorf("ledger: read catalogue: %w", err)
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// AddProducts lists products, leaving those that exist alone.
func (l *Ledger) AddProducts(ctx context.Context, ps ...order.Product) error {
	var args []any
	for _, p := range ps {
		args = append(args, p.SKU, p.Name, p.Price, p.Currency, p.UserLimit)
	}
	return l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		return insertRows(ctx, tx, l.dialect.insertNew+"trade_sku (sku_id, name, price, currency, user_limit)", 5, args, "")
	})
}

// AddCabinet registers a cabinet with its opening stock, leaving what exists
// alone. Opening stock is set only here; afterwards restock facts change it.
func (l *Ledger) AddCabinet(ctx context.Context, cabinet string, opening map[string]int64) error {
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		if err := insertRows(ctx, tx, l.dialect.insertNew+"trade_cabinet (cabinet_id, generation, created_at)", 3, []any{cabinet, l.opt.Token(), l.now()}, ""); err != nil {
			return err
		}
		var args []any
		for sku, n := range opening {
			args = append(args, cabinet, sku, n, n, 0, 0, 1)
		}
		return insertRows(ctx, tx, l.dialect.insertNew+"trade_sku_stock (cabinet_id, sku_id, total, available, locked, sold, version)", 7, args, "")
	})
	if err != nil {
		return fmt.Errorf("ledger: add cabinet %s: %w", cabinet, err)
	}
	return nil
}
