package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"vendline/cloud/effect"
	"vendline/cloud/outbox"
)

// unappliedOrders is what the deduct log holds against available and orders do
// not, less what orders hold and the log does not know; of %s cabinets since an
// instant.
const unappliedOrders = `SELECT o.cabinet_id, l.sku_id,
		SUM(CASE WHEN g.status IN ('PRE_RESERVED', 'CONSUMED') THEN l.qty ELSE 0 END) - SUM(CASE WHEN o.status IN ('PRE_RESERVED', 'CONSUMED') THEN l.qty ELSE 0 END)
	FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
	LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.order_sn AND g.sku_id = l.sku_id
	WHERE o.cabinet_id IN (%s) AND o.changed_at >= ? GROUP BY o.cabinet_id, l.sku_id`

// unappliedFacts is what the facts change that the log does not know.
const unappliedFacts = `SELECT f.cabinet_id, l.sku_id, SUM(CASE WHEN f.kind IN ('SALE', 'LOSS') THEN -l.qty ELSE l.qty END)
	FROM trade_fact f JOIN trade_fact_line l ON l.fact_id = f.fact_id
	LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.fact_id AND g.sku_id = l.sku_id
	WHERE f.cabinet_id IN (%s) AND f.created_at >= ? AND g.order_sn IS NULL GROUP BY f.cabinet_id, l.sku_id`

// sellableOf is what the truth allows to be sold, per cabinet and SKU:
// available, plus what the deduct log holds against it and the orders do not,
// minus what the orders hold and the log has not seen, plus the facts it has not
// seen. It may be negative: then the shortage is physical.
func (l *Ledger) sellableOf(ctx context.Context, tx *sql.Tx, cabinets []string) (map[string]map[string]int64, error) {
	out := make(map[string]map[string]int64, len(cabinets))
	shards := map[int][]string{}
	for _, c := range cabinets {
		out[c] = map[string]int64{}
		shards[l.Shard(c)] = append(shards[l.Shard(c)], c)
	}
	add := func(what, q string, args ...any) error {
		rows, err := tx.QueryContext(ctx, q, args...)
		if err != nil {
			return fmt.Errorf("read %s: %w", what, err)
		}
		defer rows.Close()
		for rows.Next() {
			var c, sku string
			var n int64
			if err := rows.Scan(&c, &sku, &n); err != nil {
				return fmt.Errorf("read %s: %w", what, err)
			}
			out[c][sku] += n
		}
		return rows.Err()
	}
	if err := add("stock", "SELECT cabinet_id, sku_id, available FROM trade_sku_stock WHERE cabinet_id IN ("+marks(len(cabinets))+")", anys(cabinets)...); err != nil {
		return nil, err
	}
	for shard, some := range shards {
		since, err := l.shardWatermark(ctx, tx, shard)
		if err != nil {
			return nil, err
		}
		if since == math.MaxInt64 {
			continue
		}
		in, args := marks(len(some)), append(anys(some), since)
		if err := add("unapplied orders", fmt.Sprintf(unappliedOrders, in), args...); err != nil {
			return nil, err
		}
		if err := add("unapplied facts", fmt.Sprintf(unappliedFacts, in), args...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pendingEffects tells each of what Redis may not have heard of: the effects in
// the outbox of the shards of cabinets, so that others of those shards are among
// them.
func (l *Ledger) pendingEffects(ctx context.Context, tx *sql.Tx, cabinets []string, each func(effect.Effect)) error {
	shards := map[int]struct{}{}
	for _, c := range cabinets {
		shards[l.Shard(c)] = struct{}{}
	}
	args := []any{string(outbox.KindRedis)}
	for s := range shards {
		args = append(args, s)
	}
	rows, err := tx.QueryContext(ctx, "SELECT payload FROM local_msg WHERE kind = ? AND shard IN ("+marks(len(shards))+")", args...)
	if err != nil {
		return fmt.Errorf("read pending effects: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var payload []byte
		if err := rows.Scan(&payload); err != nil {
			return fmt.Errorf("read pending effects: %w", err)
		}
		es, err := effect.Decode(payload)
		if err != nil {
			return err
		}
		for _, e := range es {
			each(e)
		}
	}
	return rows.Err()
}
