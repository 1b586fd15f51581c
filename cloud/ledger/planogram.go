package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

// errTaken is the sequence number that somebody else took first.
var errTaken = errors.New("ledger: the planogram's number is taken")

// SetPlanogram commits a cabinet's next version; see planogram.Ledger.
//
// The cabinet's row is locked exclusively, so versions are dense and each was
// made from the one before. A SKU that is new at the cabinet gets a stock row,
// and with it a new generation is drawn: Redis does not know the SKU, and is
// rebuilt at its first touch. Dies before the commit: nothing happened.
func (l *Ledger) SetPlanogram(ctx context.Context, cabinet string, slots []wire.Slot, base *int64) (version int64, made bool, err error) {
	l.planograms.Lock() // in one process nobody fights for the next number
	defer l.planograms.Unlock()
	for {
		var rows []outbox.Row
		err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
			rows, made = nil, false
			if cabinet == fleetRow {
				return noCabinet(cabinet)
			}
			if _, _, err := l.lockCabinet(ctx, tx, cabinet); err != nil {
				return err
			}
			newest, body, err := newestPlanogram(ctx, tx, cabinet)
			if err != nil {
				return err
			}
			if p := (wire.Planogram{Version: newest, Slots: slots}); newest > 0 && bytes.Equal(body, encode(p)) {
				version = newest
				return nil
			}
			if base != nil && *base != newest {
				return planogram.ErrConflict
			}
			if err := l.stockFor(ctx, tx, cabinet, slots); err != nil {
				return err
			}
			version, made = newest+1, true
			rows, err = l.addPlanogram(ctx, tx, cabinet, wire.Planogram{Version: version, Slots: slots})
			return err
		})
		if errors.Is(err, errTaken) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return 0, false, err
		}
		l.opt.Feed(rows)
		return version, made, nil
	}
}

func newestPlanogram(ctx context.Context, tx *sql.Tx, cabinet string) (version int64, body []byte, err error) {
	err = tx.QueryRowContext(ctx, "SELECT version, body FROM trade_planogram WHERE cabinet_id = ? ORDER BY version DESC LIMIT 1", cabinet).Scan(&version, &body)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, nil, fmt.Errorf("read the newest planogram: %w", err)
	}
	return version, body, nil
}

// addPlanogram writes a version and the row that tells its cabinet.
//
// Its seq is one more than the highest committed one. Of two writers that take
// the same, the second waits for the first and then starts over: numbers are
// committed in order, and whoever has read up to one has missed none below it.
func (l *Ledger) addPlanogram(ctx context.Context, tx *sql.Tx, cabinet string, p wire.Planogram) ([]outbox.Row, error) {
	var last sql.NullInt64
	if err := tx.QueryRowContext(ctx, "SELECT MAX(seq) FROM trade_planogram").Scan(&last); err != nil {
		return nil, fmt.Errorf("read the last planogram's number: %w", err)
	}
	b := l.newRows(l.now())
	b.add(outbox.KindPlanogram, cabinet, string(encode(outbox.Planogram{Cabinet: cabinet, Version: p.Version})), planogram.Lease)
	rows := b.rows()
	_, err := tx.ExecContext(ctx, "INSERT INTO trade_planogram (cabinet_id, version, body, created_at, seq, msg_id) VALUES (?,?,?,?,?,?)",
		cabinet, p.Version, encode(p), b.now, last.Int64+1, rows[0].ID)
	if duplicate(err) {
		return nil, errTaken
	}
	if err != nil {
		return nil, fmt.Errorf("write planogram: %w", err)
	}
	return rows, l.insertMsgs(ctx, tx, rows)
}

// stockFor makes sure that the cabinet can have stock of all that its slots hold.
func (l *Ledger) stockFor(ctx context.Context, tx *sql.Tx, cabinet string, slots []wire.Slot) error {
	at := make(map[string]int, len(slots)) // SKU → its first slot
	for i, s := range slots {
		if _, ok := at[s.SKU]; !ok {
			at[s.SKU] = i
		}
	}
	skus := anys(sortedKeys(at))
	listed, err := names(ctx, tx, "SELECT sku_id FROM trade_sku WHERE sku_id IN ("+marks(len(skus))+")", skus...)
	if err != nil {
		return fmt.Errorf("read catalogue: %w", err)
	}
	here, err := names(ctx, tx, "SELECT sku_id FROM trade_sku_stock WHERE cabinet_id = ? AND sku_id IN ("+marks(len(skus))+")", append([]any{cabinet}, skus...)...)
	if err != nil {
		return fmt.Errorf("read stock: %w", err)
	}
	var fresh []any
	for _, sku := range sortedKeys(at) {
		if !listed[sku] {
			return &order.Refusal{Code: wire.CodeSKUUnknown, Detail: "slot " + slots[at[sku]].Slot + " holds " + sku + ", which is no product"}
		}
		if !here[sku] {
			fresh = append(fresh, cabinet, sku, 0, 0, 0, 0, 1)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := insertRows(ctx, tx, l.dialect.insertNew+"trade_sku_stock (cabinet_id, sku_id, total, available, locked, sold, version)", 7, fresh, ""); err != nil {
		return fmt.Errorf("make stock rows: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE trade_cabinet SET generation = ? WHERE cabinet_id = ?", l.opt.Token(), cabinet); err != nil {
		return fmt.Errorf("draw the cabinet's generation: %w", err)
	}
	return nil
}

// names runs a query for one column of text.
func names(ctx context.Context, q querier, query string, args ...any) (map[string]bool, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out[name] = true
	}
	return out, rows.Err()
}

// AckPlanogram notes that a cabinet works by a version of its planogram, and
// stops telling it that one and those before. The first word of it stands; a
// version that never was is nobody's.
func (l *Ledger) AckPlanogram(ctx context.Context, cabinet string, version int64) error {
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "UPDATE trade_planogram SET acked_at = ? WHERE cabinet_id = ? AND version = ? AND acked_at IS NULL", l.now(), cabinet, version)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		told, err := names(ctx, tx, "SELECT msg_id FROM trade_planogram WHERE cabinet_id = ? AND version <= ? AND msg_id <> ''", cabinet, version)
		if err != nil {
			return err
		}
		return deleteMsgs(ctx, tx, sortedKeys(told)...)
	})
	if err != nil {
		return fmt.Errorf("ledger: acknowledge planogram %d of %s: %w", version, cabinet, err)
	}
	return nil
}
