package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Bounds of pruning, so that orders never wait for it.
const (
	ticketAge   = 24 * time.Hour // how long a generation must have been over
	pruneBatch  = 500            // tickets of one transaction
	prunePass   = 20_000         // tickets of one pass
	prunePause  = 20 * time.Millisecond
	pruneLooked = 500 // cabinets looked at in one query
)

// PruneTickets removes tickets of generations that have been over for a day,
// as far as one pass goes, and says how many.
//
// A ticket says that its run counts; nobody asks for one of a generation that is
// over, but whoever lost the answer to the commit that drew it, within minutes.
// When a generation ended is not recorded, so the first pass that finds it over
// says since when, and the day begins there. Dies anywhere: the next pass goes
// on, and two at once do each other's work.
func (l *Ledger) PruneTickets(ctx context.Context) (pruned int, err error) {
	for after := ""; ; {
		ids, err := l.cabinetsAfter(ctx, after)
		if err != nil || len(ids) == 0 {
			return pruned, err
		}
		for _, c := range ids {
			n, err := l.pruneCabinet(ctx, c, prunePass-pruned)
			if pruned += n; err != nil || pruned >= prunePass {
				return pruned, err
			}
		}
		after = ids[len(ids)-1]
	}
}

func (l *Ledger) cabinetsAfter(ctx context.Context, after string) ([]string, error) {
	ids, err := texts(ctx, l.read, "SELECT cabinet_id FROM trade_cabinet WHERE cabinet_id > ? AND cabinet_id <> ? ORDER BY cabinet_id LIMIT "+itoa(pruneLooked), after, fleetRow)
	if err != nil {
		return nil, fmt.Errorf("ledger: prune tickets: %w", err)
	}
	return ids, nil
}

func (l *Ledger) pruneCabinet(ctx context.Context, cabinet string, most int) (pruned int, err error) {
	var own, fleet string
	err = l.read.QueryRowContext(ctx, "SELECT c.generation, f.generation FROM trade_cabinet c JOIN trade_cabinet f ON f.cabinet_id = ? WHERE c.cabinet_id = ?", fleetRow, cabinet).Scan(&own, &fleet)
	if err != nil {
		return 0, fmt.Errorf("ledger: prune tickets of %s: %w", cabinet, err)
	}
	over, err := texts(ctx, l.read, "SELECT DISTINCT generation FROM trade_stock_ticket WHERE cabinet_id = ?", cabinet)
	if err != nil {
		return 0, fmt.Errorf("ledger: prune tickets of %s: %w", cabinet, err)
	}
	for _, gen := range over {
		if gen == generation(own, fleet) {
			continue
		}
		ripe, err := l.overForADay(ctx, cabinet, gen)
		if err != nil {
			return pruned, fmt.Errorf("ledger: prune tickets of %s: %w", cabinet, err)
		}
		for ripe && pruned < most {
			n, err := l.pruneSome(ctx, cabinet, gen)
			if pruned += n; err != nil {
				return pruned, fmt.Errorf("ledger: prune tickets of %s: %w", cabinet, err)
			}
			if n < pruneBatch {
				break
			}
			select {
			case <-time.After(prunePause):
			case <-ctx.Done():
				return pruned, ctx.Err()
			}
		}
	}
	return pruned, nil
}

func (l *Ledger) overForADay(ctx context.Context, cabinet, gen string) (bool, error) {
	var since int64
	err := l.read.QueryRowContext(ctx, "SELECT since FROM trade_ticket_stale WHERE cabinet_id = ? AND generation = ?", cabinet, gen).Scan(&since)
	if err == nil {
		return l.now()-since >= ticketAge.Milliseconds(), nil
	}
	if err != sql.ErrNoRows {
		return false, err
	}
	return false, l.again(ctx, func() error {
		_, err := l.db.ExecContext(ctx, l.dialect.insertNew+"trade_ticket_stale (cabinet_id, generation, since) VALUES (?,?,?)", cabinet, gen, l.now())
		return err
	})
}

// pruneSome removes the lowest tickets of a generation, and its mark with the last.
func (l *Ledger) pruneSome(ctx context.Context, cabinet, gen string) (n int, err error) {
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		const of = " WHERE cabinet_id = ? AND generation = ?"
		var last sql.NullInt64
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*), MAX(ticket) FROM (SELECT ticket FROM trade_stock_ticket"+of+" ORDER BY ticket LIMIT "+itoa(pruneBatch)+") some", cabinet, gen).Scan(&n, &last); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM trade_stock_ticket"+of+" AND ticket <= ?", cabinet, gen, last.Int64); err != nil {
			return err
		}
		if n == pruneBatch {
			return nil
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM trade_ticket_stale"+of, cabinet, gen)
		return err
	})
	return n, err
}

func texts(ctx context.Context, db querier, q string, args ...any) ([]string, error) {
	rows, err := db.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}
