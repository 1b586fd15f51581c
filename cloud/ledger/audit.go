package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"vendline/cloud/audit"
)

// wholeLog is for how long the deduct log is taken to be whole: months of it are
// dropped after 24 (docs/retention.md), and then stock rows have sold more than it
// knows.
const wholeLog = 700 * 24 * time.Hour

// Audit implements audit.Books. It reads one snapshot and locks nothing. Dies
// before the totals are kept: the last ones stand.
func (l *Ledger) Audit(ctx context.Context, since time.Time, most int) (f audit.Findings, err error) {
	err = l.again(ctx, func() error {
		f = audit.Findings{}
		tx, err := l.read.BeginTx(ctx, &sql.TxOptions{Isolation: l.dialect.snapshot, ReadOnly: l.dialect.name == "mysql"})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		a := auditor{l: l, tx: tx, since: since, most: most, found: &f}
		return a.all(ctx)
	})
	if err != nil {
		return f, fmt.Errorf("ledger: audit: %w", err)
	}
	if err := l.keepDays(ctx, f.Days); err != nil {
		return f, fmt.Errorf("ledger: keep the days' totals: %w", err)
	}
	return f, nil
}

// auditor is one audit over one snapshot.
type auditor struct {
	l     *Ledger
	tx    *sql.Tx
	since time.Time
	most  int
	found *audit.Findings
}

func (a *auditor) all(ctx context.Context) error {
	var first sql.NullInt64
	if err := a.tx.QueryRowContext(ctx, "SELECT MIN(created_at) FROM trade_cabinet WHERE cabinet_id <> ?", fleetRow).Scan(&first); err != nil {
		return err
	}
	whole := "0"
	if !first.Valid || a.l.now()-first.Int64 < wholeLog.Milliseconds() {
		whole = "1"
	}
	in := strings.NewReplacer("{day}", itoa(int(a.since.UnixMilli())), "{whole}", whole)
	for _, r := range auditRules() {
		if err := a.ask(ctx, r.name, in.Replace(r.query)); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	if err := a.orders(ctx); err != nil {
		return fmt.Errorf("orders against the deduct log: %w", err)
	}
	if err := a.facts(ctx); err != nil {
		return fmt.Errorf("facts against the deduct log: %w", err)
	}
	return a.days(ctx)
}

// say adds a difference unless its rule has said enough; then it is false.
func (a *auditor) say(n *int, d audit.Difference) bool {
	if *n == a.most {
		a.found.More = true
		return false
	}
	*n++
	a.found.Differences = append(a.found.Differences, d)
	return true
}

func (a *auditor) ask(ctx context.Context, name, query string) error {
	said := 0
	words := auditWords[name]
	return eachRow(ctx, a.tx, query+" LIMIT "+itoa(a.most+1), nil, func(rows *sql.Rows) (bool, error) {
		var id, sku, order, cabinet string
		var n [4]int64
		if err := rows.Scan(&id, &sku, &order, &cabinet, &n[0], &n[1], &n[2], &n[3]); err != nil {
			return false, err
		}
		var args []any
		for _, v := range n[:strings.Count(words, "%d")] {
			args = append(args, v)
		}
		return a.say(&said, audit.Difference{Rule: name, Subject: subjectOf(id, sku), Order: order, Cabinet: cabinet, Detail: fmt.Sprintf(words, args...)}), nil
	})
}

func subjectOf(id, sku string) string {
	if sku == "" {
		return id
	}
	return id + "/" + sku
}

// orders compares each order line with the deduct log. What stock is still to
// hear of is younger than its shard's watermark.
func (a *auditor) orders(ctx context.Context) error {
	const q = `SELECT o.order_sn, l.sku_id, o.cabinet_id, o.changed_at, o.status, o.version, l.qty, COALESCE(g.status, 'nothing'), COALESCE(g.version, 0), COALESCE(g.qty, 0)
		FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
		LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.order_sn AND g.sku_id = l.sku_id
		WHERE o.created_at >= ? AND (g.order_sn IS NULL AND o.status <> 'INIT' OR g.status <> o.status OR g.version <> o.version OR g.qty <> l.qty)`
	known, err := a.watermarks(ctx)
	if err != nil {
		return err
	}
	said := 0
	return eachRow(ctx, a.tx, q, []any{a.since.UnixMilli()}, func(rows *sql.Rows) (bool, error) {
		var id, sku, cabinet, status, logged string
		var changed, version, qty, logVersion, logQty int64
		if err := rows.Scan(&id, &sku, &cabinet, &changed, &status, &version, &qty, &logged, &logVersion, &logQty); err != nil {
			return false, err
		}
		if changed >= known[a.l.Shard(cabinet)] {
			return true, nil
		}
		return a.say(&said, audit.Difference{Rule: "order_log", Subject: subjectOf(id, sku), Order: id, Cabinet: cabinet,
			Detail: fmt.Sprintf("the order says %s v%d × %d, the deduct log %s v%d × %d", status, version, qty, logged, logVersion, logQty)}), nil
	})
}

// facts is orders for what cabinets said.
func (a *auditor) facts(ctx context.Context) error {
	const q = `SELECT f.fact_id, l.sku_id, f.cabinet_id, f.created_at, f.kind, l.qty, COALESCE(g.qty, 0) FROM trade_fact f JOIN trade_fact_line l ON l.fact_id = f.fact_id
		LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.fact_id AND g.sku_id = l.sku_id WHERE f.created_at >= ? AND (g.order_sn IS NULL OR g.qty <> l.qty)`
	known, err := a.watermarks(ctx)
	if err != nil {
		return err
	}
	said := 0
	return eachRow(ctx, a.tx, q, []any{a.since.UnixMilli()}, func(rows *sql.Rows) (bool, error) {
		var id, sku, cabinet, kind string
		var at, qty, logQty int64
		if err := rows.Scan(&id, &sku, &cabinet, &at, &kind, &qty, &logQty); err != nil {
			return false, err
		}
		if at >= known[a.l.Shard(cabinet)] {
			return true, nil
		}
		return a.say(&said, audit.Difference{Rule: "fact_log", Subject: subjectOf(id, sku), Cabinet: cabinet,
			Detail: fmt.Sprintf("the %s is of %d units, the deduct log has %d", kind, qty, logQty)}), nil
	})
}

func (a *auditor) watermarks(ctx context.Context) (map[int]int64, error) {
	known := map[int]int64{}
	for s := range a.l.opt.Shards {
		at, err := a.l.shardWatermark(ctx, a.tx, s)
		if err != nil {
			return nil, err
		}
		known[s] = at
	}
	return known, nil
}

// eachRow runs a query until row says stop.
func eachRow(ctx context.Context, q querier, query string, args []any, row func(*sql.Rows) (more bool, err error)) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if more, err := row(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}
