package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// markAge is how far back a rebuild loads markers: the longest ordinary replay.
const markAge = 24 * 60 * 60 * 1000 // ms

// snapshot reads all that Redis has to know of a cabinet. tx must be at
// snapshot isolation, or hold the only writer.
func (l *Ledger) snapshot(ctx context.Context, tx *sql.Tx, cabinet string) (fence.Snapshot, error) {
	now := l.now()
	s := fence.Snapshot{Cabinet: cabinet, At: now}
	var err error
	if s.Sellable, err = l.sellable(ctx, tx, cabinet); err != nil {
		return s, err
	}
	since, err := l.watermark(ctx, tx, cabinet)
	if err != nil {
		return s, err
	}
	if s.Marks, err = l.marks(ctx, tx, cabinet, min(since, now-markAge), now); err != nil {
		return s, err
	}
	s.Done, err = l.pendingFacts(ctx, tx, cabinet)
	return s, err
}

// watermark is the instant before which the deduct log knows every order and
// fact of the cabinet: the age of the oldest stock row, or open stock dead letter, of
// its shard. A row carries the very changed_at of the orders it states, so skew
// between services cannot put an unknown order before it. None is "now, all".
func (l *Ledger) watermark(ctx context.Context, tx *sql.Tx, cabinet string) (int64, error) {
	return l.shardWatermark(ctx, tx, l.Shard(cabinet))
}

func (l *Ledger) shardWatermark(ctx context.Context, tx *sql.Tx, shard int) (int64, error) {
	// One statement: a burial or a redrive between two would be seen by neither.
	const q = `SELECT MIN(at) FROM (SELECT MIN(created_at) AS at FROM local_msg WHERE kind = 'stock' AND shard = ?
		UNION ALL SELECT MIN(created_at) FROM dead_letter WHERE source = '` + stockSource + `' AND state = 'open' AND shard = ?) oldest`
	var at sql.NullInt64
	if err := tx.QueryRowContext(ctx, q, shard, shard).Scan(&at); err != nil {
		return 0, fmt.Errorf("read watermark: %w", err)
	}
	if !at.Valid {
		return math.MaxInt64, nil
	}
	return at.Int64, nil
}

// sellable is what the truth allows to be sold, per SKU; see sellableOf.
func (l *Ledger) sellable(ctx context.Context, tx *sql.Tx, cabinet string) (map[string]int64, error) {
	all, err := l.sellableOf(ctx, tx, []string{cabinet})
	return all[cabinet], err
}

// marks reads the orders a rebuilt Redis must remember. One that waits to be
// placed is none: what a run took for it and did not commit does not count, and
// it takes its basket anew.
func (l *Ledger) marks(ctx context.Context, tx *sql.Tx, cabinet string, since, now int64) ([]fence.Mark, error) {
	found, err := orders(ctx, tx, selectOrder+" WHERE cabinet_id = ? AND changed_at >= ? AND version > 0", cabinet, since)
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	known, err := l.knownVersions(ctx, tx, cabinet, since)
	if err != nil {
		return nil, err
	}
	out := make([]fence.Mark, len(found))
	for i, o := range found {
		held := o.Status.InForce()
		out[i] = fence.Mark{
			ID: o.ID, Held: held, Version: o.Version, User: o.User, Lines: wireLines(o.Lines), At: o.CreatedAt.UnixMilli(),
			Unknown: held && known[o.ID] < o.Version,
			Limited: held && o.CreatedAt.UnixMilli() > now-markAge,
		}
	}
	return out, nil
}

// knownVersions is, per order, the lowest version that all its lines have
// reached in the deduct log.
func (l *Ledger) knownVersions(ctx context.Context, tx *sql.Tx, cabinet string, since int64) (map[string]int64, error) {
	rows, err := tx.QueryContext(ctx, `SELECT l.order_sn, MIN(COALESCE(g.version, 0))
		FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
		LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.order_sn AND g.sku_id = l.sku_id
		WHERE o.cabinet_id = ? AND o.changed_at >= ? GROUP BY l.order_sn`, cabinet, since)
	if err != nil {
		return nil, fmt.Errorf("read known versions: %w", err)
	}
	defer rows.Close()
	known := map[string]int64{}
	for rows.Next() {
		var id string
		var v int64
		if err := rows.Scan(&id, &v); err != nil {
			return nil, fmt.Errorf("read known versions: %w", err)
		}
		known[id] = v
	}
	return known, rows.Err()
}

// pendingFacts lists the facts whose Redis effect is still in the outbox.
// sellable counts them already, so Redis must take them for done.
func (l *Ledger) pendingFacts(ctx context.Context, tx *sql.Tx, cabinet string) (ids []string, err error) {
	err = l.pendingEffects(ctx, tx, []string{cabinet}, func(e effect.Effect) {
		if e.Adjust != nil && e.Adjust.Cabinet == cabinet {
			ids = append(ids, e.Adjust.ID)
		}
	})
	return ids, err
}

// factEffects says what a fact does, as a statement and as a Redis effect.
func factEffects(id, cabinet string, state statement.State, lines []wire.Line) (statement.Statement, effect.Effect) {
	per, _ := statement.EffectOf(state)
	deltas := make([]effect.Delta, len(lines))
	for i, w := range lines {
		deltas[i] = effect.Delta{SKU: w.SKU, Units: per.Available * int64(w.Qty)}
	}
	return statement.Statement{ID: id, Cabinet: cabinet, State: state, Version: 1, Lines: slices.Clone(lines)},
		effect.Effect{Adjust: &effect.Adjust{ID: id, Cabinet: cabinet, Deltas: deltas}}
}

// Sellable reads what the truth allows to be sold at a cabinet.
func (l *Ledger) Sellable(ctx context.Context, cabinet string) (out map[string]int64, err error) {
	err = l.inTx(ctx, l.dialect.snapshot, func(tx *sql.Tx) error {
		out, err = l.sellable(ctx, tx, cabinet)
		return err
	})
	if err == nil && len(out) == 0 {
		ok, err := l.hasCabinet(ctx, cabinet)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no cabinet " + cabinet}
		}
	}
	return out, err
}
