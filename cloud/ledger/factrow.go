package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// errRecorded says that a cabinet's fact is here already.
var errRecorded = errors.New("ledger: the fact is recorded")

// insertFact inserts a fact without lines.
func insertFact(ctx context.Context, tx *sql.Tx, f Fact, now int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO trade_fact (fact_id, cabinet_id, kind, epoch, seq, cause, created_at, body) VALUES (?,?,?,?,?,?,?,?)",
		f.ID, f.Cabinet, string(f.State), f.Epoch, f.Seq, f.Cause, now, f.Body)
	if duplicate(err) {
		return errRecorded
	}
	if err != nil {
		return fmt.Errorf("insert fact: %w", err)
	}
	return nil
}

// addFact inserts a fact and adds what stock and Redis have to hear of it.
func (l *Ledger) addFact(ctx context.Context, tx *sql.Tx, b *rowSet, f Fact) error {
	if err := insertFact(ctx, tx, f, b.now); err != nil {
		return err
	}
	return l.addFactLines(ctx, tx, b, f)
}

func (l *Ledger) addFactLines(ctx context.Context, tx *sql.Tx, b *rowSet, f Fact) error {
	if len(f.Lines) == 0 {
		return nil
	}
	var args []any
	for _, w := range f.Lines {
		args = append(args, f.ID, w.SKU, w.Qty)
	}
	if err := insertRows(ctx, tx, "INSERT INTO trade_fact_line (fact_id, sku_id, qty)", 3, args, ""); err != nil {
		return fmt.Errorf("insert fact lines: %w", err)
	}
	st, e := factEffects(f.ID, f.Cabinet, f.State, f.Lines)
	b.state(st)
	b.effect(e)
	return nil
}

// skuUnits is a signed number of units by SKU.
type skuUnits map[string]int64

// addDifference books units that turned out to exist, or to be gone, as facts
// of ours that follow from a fact of a cabinet.
func (l *Ledger) addDifference(ctx context.Context, tx *sql.Tx, b *rowSet, cabinet, from, cause string, d skuUnits) error {
	var more, less []wire.Line
	for _, sku := range sortedKeys(d) {
		switch n := d[sku]; {
		case n > 0:
			more = append(more, wire.Line{SKU: sku, Qty: int(n)})
		case n < 0:
			less = append(less, wire.Line{SKU: sku, Qty: int(-n)})
		}
	}
	for _, f := range []Fact{{State: statement.Drift, Lines: more}, {State: statement.Loss, Lines: less}} {
		if len(f.Lines) == 0 {
			continue
		}
		f.ID, f.Cabinet, f.Cause = derived(from, cause, string(f.State)), cabinet, cause
		if err := l.addFact(ctx, tx, b, f); err != nil {
			return fmt.Errorf("book a difference: %w", err)
		}
	}
	return nil
}

// derived is an id that follows from others, in the form of a UUID: who comes
// to the same decision again names it alike.
func derived(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// recordAlone makes one fact of a cabinet durable with all that decide adds to
// it, in a transaction of their own under the cabinet's lock: exclusive for
// those that compare stock with what is there, else shared. A fact that is here
// already changes nothing.
func (l *Ledger) recordAlone(ctx context.Context, f Fact, exclusive bool, decide func(tx *sql.Tx, b *rowSet) ([]order.Order, error)) error {
	var rows []outbox.Row
	var changed []order.Order
	iso := l.dialect.commit
	if exclusive && !l.opt.Direct {
		iso = l.dialect.snapshot
	}
	err := l.inTx(ctx, iso, func(tx *sql.Tx) error {
		rows, changed = nil, nil
		if err := l.enter(ctx, tx, f.Cabinet, exclusive); err != nil {
			return err
		}
		if exclusive && l.opt.Direct {
			// Stock moves with orders here, so held rows are as good as a snapshot;
			// a snapshot would hide from step 8's code what others have committed.
			if err := l.holdStock(ctx, tx, f.Cabinet); err != nil {
				return err
			}
		}
		b := l.newRows(l.now())
		if err := insertFact(ctx, tx, f, b.now); err != nil {
			return err
		}
		touched, err := decide(tx, b)
		if err != nil {
			return err
		}
		var losers []order.Order
		rows, losers, err = l.hand(ctx, tx, b)
		changed = append(touched, losers...)
		return err
	})
	if errors.Is(err, errRecorded) {
		return l.sameFact(ctx, f)
	}
	if err == nil {
		l.opt.Feed(rows)
		l.opt.Changed(changed)
	}
	return err
}

// enter locks a cabinet's row until the transaction ends.
func (l *Ledger) enter(ctx context.Context, tx *sql.Tx, cabinet string, exclusive bool) error {
	var g string
	if exclusive {
		own, fleet, err := l.lockCabinet(ctx, tx, cabinet)
		if err != nil {
			return err
		}
		g = generation(own, fleet)
	} else {
		known, err := l.generations(ctx, tx, map[string]struct{}{cabinet: {}}, l.dialect.forShare)
		if err != nil {
			return fmt.Errorf("read the cabinet: %w", err)
		}
		var ok bool
		if g, ok = known[cabinet]; !ok {
			return noCabinet(cabinet)
		}
	}
	if l.opt.Direct {
		return l.owns(g)
	}
	return nil
}

// holdStock locks all stock rows of a cabinet, in the order of their ids.
func (l *Ledger) holdStock(ctx context.Context, tx *sql.Tx, cabinet string) error {
	rows, err := tx.QueryContext(ctx, "SELECT id FROM trade_sku_stock WHERE cabinet_id = ? ORDER BY id"+l.dialect.forUpdate, cabinet)
	if err != nil {
		return fmt.Errorf("lock stock: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// sameFact answers a fact whose id is here already.
func (l *Ledger) sameFact(ctx context.Context, f Fact) error {
	var cabinet, kind string
	var body []byte
	err := l.read.QueryRowContext(ctx, "SELECT cabinet_id, kind, body FROM trade_fact WHERE fact_id = ?", f.ID).Scan(&cabinet, &kind, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("ledger: fact %s is neither new nor here", f.ID)
	}
	if err != nil {
		return fmt.Errorf("ledger: find fact: %w", err)
	}
	same := cabinet == f.Cabinet && kind == string(f.State) && bytes.Equal(body, f.Body)
	rows, err := l.read.QueryContext(ctx, "SELECT sku_id, qty FROM trade_fact_line WHERE fact_id = ? ORDER BY sku_id", f.ID)
	if err != nil {
		return fmt.Errorf("ledger: find fact: %w", err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var w wire.Line
		if err := rows.Scan(&w.SKU, &w.Qty); err != nil {
			return fmt.Errorf("ledger: find fact: %w", err)
		}
		same = same && n < len(f.Lines) && f.Lines[n] == w
		n++
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("ledger: find fact: %w", err)
	}
	if !same || n != len(f.Lines) {
		return &order.Refusal{Code: wire.CodeIdempotencyConflict, Detail: "another fact has this id; the first one stands"}
	}
	return nil
}
