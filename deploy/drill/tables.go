package drill

import (
	"context"
	"database/sql"

	"vendline/shared/wire"
)

// readTables reads MySQL in one transaction, whose snapshot is of one instant.
func (s *Site) readTables(ctx context.Context, st *State) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	for _, read := range []func(context.Context, *sql.Tx, *State) error{readStock, readOrders, readMoney, readFacts, readLog, readBacklog, readGenerations} {
		if err := read(ctx, tx, st); err != nil {
			return err
		}
	}
	return nil
}

// all reads every row of a query into Ts whose fields it is told.
func all[T any](ctx context.Context, tx *sql.Tx, query string, fields func(*T) []any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var one T
		if err := rows.Scan(fields(&one)...); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}

func readStock(ctx context.Context, tx *sql.Tx, st *State) (err error) {
	st.Stock, err = all(ctx, tx, "SELECT cabinet_id, sku_id, total, available, locked, sold FROM trade_sku_stock", func(r *StockRow) []any {
		return []any{&r.Cabinet, &r.SKU, &r.Total, &r.Available, &r.Locked, &r.Sold}
	})
	return err
}

func readOrders(ctx context.Context, tx *sql.Tx, st *State) (err error) {
	st.Orders, err = all(ctx, tx, `SELECT order_sn, cabinet_id, user_id, status, version, amount, currency, orphan, cause,
		created_at, changed_at, expires_at, COALESCE(hold_until, 0) FROM trade_order`, func(r *OrderRow) []any {
		return []any{&r.ID, &r.Cabinet, &r.User, &r.Status, &r.Version, &r.Amount, &r.Currency, &r.Orphan, &r.Cause, &r.Created, &r.Changed, &r.Expires, &r.HoldUntil}
	})
	if err != nil {
		return err
	}
	type line struct {
		id string
		OrderLine
		LineEnd
	}
	lines, err := all(ctx, tx, "SELECT order_sn, sku_id, qty, price, state, dropped FROM trade_order_line ORDER BY order_sn, sku_id", func(l *line) []any {
		return []any{&l.id, &l.SKU, &l.Qty, &l.Price, &l.State, &l.Dropped}
	})
	of := map[string][]OrderLine{}
	st.Ends = map[string]map[string]LineEnd{}
	for _, l := range lines {
		of[l.id] = append(of[l.id], l.OrderLine)
		if st.Ends[l.id] == nil {
			st.Ends[l.id] = map[string]LineEnd{}
		}
		st.Ends[l.id][l.SKU] = l.LineEnd
	}
	for i := range st.Orders {
		st.Orders[i].Lines = of[st.Orders[i].ID]
	}
	return err
}

func readMoney(ctx context.Context, tx *sql.Tx, st *State) error {
	type row struct {
		order, kind string
		amount      int64
	}
	rows, err := all(ctx, tx, "SELECT order_sn, kind, amount FROM money_movement", func(r *row) []any { return []any{&r.order, &r.kind, &r.amount} })
	st.Purses = map[string]Purse{}
	for _, r := range rows {
		p := st.Purses[r.order]
		switch r.kind {
		case "captured":
			p.Captured += r.amount
		case "refunded":
			p.Refunded += r.amount
		}
		st.Purses[r.order] = p
	}
	return err
}

func readFacts(ctx context.Context, tx *sql.Tx, st *State) (err error) {
	st.Facts, err = all(ctx, tx, "SELECT fact_id, cabinet_id, kind, epoch, seq, created_at FROM trade_fact", func(r *FactRow) []any {
		return []any{&r.ID, &r.Cabinet, &r.Kind, &r.Epoch, &r.Seq, &r.Created}
	})
	if err != nil {
		return err
	}
	type line struct {
		id string
		wire.Line
	}
	lines, err := all(ctx, tx, "SELECT fact_id, sku_id, qty FROM trade_fact_line ORDER BY fact_id, sku_id", func(l *line) []any {
		return []any{&l.id, &l.SKU, &l.Qty}
	})
	of := map[string][]wire.Line{}
	for _, l := range lines {
		of[l.id] = append(of[l.id], l.Line)
	}
	for i := range st.Facts {
		st.Facts[i].Lines = of[st.Facts[i].ID]
	}
	return err
}

func readLog(ctx context.Context, tx *sql.Tx, st *State) (err error) {
	st.Log, err = all(ctx, tx, "SELECT order_sn, sku_id, cabinet_id, status, qty, version FROM trade_stock_deduct_log", func(r *LogRow) []any {
		return []any{&r.ID, &r.SKU, &r.Cabinet, &r.Status, &r.Qty, &r.Version}
	})
	return err
}

func readBacklog(ctx context.Context, tx *sql.Tx, st *State) (err error) {
	if st.Letters, err = all(ctx, tx, "SELECT CONCAT(source, ': ', reason) FROM dead_letter", func(s *string) []any { return []any{s} }); err != nil {
		return err
	}
	kinds, err := all(ctx, tx, "SELECT kind FROM local_msg", func(s *string) []any { return []any{s} })
	st.Outbox = map[string]int{}
	for _, k := range kinds {
		st.Outbox[k]++
	}
	return err
}

// readGenerations joins each cabinet's token with the fleet's, as Redis is told.
func readGenerations(ctx context.Context, tx *sql.Tx, st *State) error {
	type row struct{ cabinet, token string }
	rows, err := all(ctx, tx, `SELECT c.cabinet_id, CONCAT(c.generation, '.', f.generation) FROM trade_cabinet c JOIN trade_cabinet f ON f.cabinet_id = '*'
		WHERE c.cabinet_id <> '*'`, func(r *row) []any { return []any{&r.cabinet, &r.token} })
	st.Generations = map[string]string{}
	for _, r := range rows {
		st.Generations[r.cabinet] = r.token
	}
	return err
}
