package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"vendline/cloud/fence"
)

// Meet notes a Redis master and makes stale what it serves, unless it was met
// before: it was started or promoted since, and may not have all that was
// written to the master before it.
//
// One transaction. Dies before the commit: nobody has met the server, and
// whoever connects next does. Dies after: it is fenced, and known. Of two
// processes that meet it at once, one waits for the other's row and finds it.
func (l *Ledger) Meet(ctx context.Context, s fence.Server) (fenced bool, err error) {
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		fenced = false
		now := l.now()
		res, err := tx.ExecContext(ctx, l.dialect.insertNew+"stock_server (identity, place, seen_at, evicted) VALUES (?,?,?,?)", s.Identity, s.Place, now, s.Evicted)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		fenced = true
		return l.fenceServer(ctx, tx, s, fence.Unmet, now)
	})
	if err != nil {
		return false, fmt.Errorf("ledger: meet Redis at %s: %w", s.Place, err)
	}
	return fenced, nil
}

// Dropped makes stale what a master serves if it has dropped more keys than are
// known. Dies before the commit: the next look finds the same. Dies after: it is
// fenced, and the number known.
func (l *Ledger) Dropped(ctx context.Context, s fence.Server) (fenced bool, err error) {
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		fenced = false
		res, err := tx.ExecContext(ctx, "UPDATE stock_server SET evicted = ? WHERE identity = ? AND evicted < ?", s.Evicted, s.Identity, s.Evicted)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		fenced = true
		return l.fenceServer(ctx, tx, s, fence.Evicted, l.now())
	})
	if err != nil {
		return false, fmt.Errorf("ledger: fence Redis at %s: %w", s.Place, err)
	}
	return fenced, nil
}

// fenceServer draws the tokens of what s serves: the fleet's for all, else those
// of its cabinets. A fleet token of the synchronous mode stays: Redis is stale
// under it anyway. It waits for the placements that are committing, and those
// that come after it are stale.
func (l *Ledger) fenceServer(ctx context.Context, tx *sql.Tx, s fence.Server, reason fence.Reason, now int64) error {
	i := fence.Incident{Reason: reason, Place: s.Place}
	if s.Serves == nil {
		if _, err := tx.ExecContext(ctx, "UPDATE trade_cabinet SET generation = ? WHERE cabinet_id = ? AND generation NOT LIKE ?", l.opt.Token(), fleetRow, directMark+"%"); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) - 1 FROM trade_cabinet").Scan(&i.Cabinets); err != nil {
			return err
		}
		return l.noteIncident(ctx, tx, i, now)
	}
	cabinets, err := cabinetsIn(ctx, tx)
	if err != nil {
		return err
	}
	cabinets = slices.DeleteFunc(cabinets, func(c string) bool { return !s.Serves(c) })
	i.Cabinets = int64(len(cabinets))
	for some := range slices.Chunk(cabinets, 500) {
		_, err := tx.ExecContext(ctx, "UPDATE trade_cabinet SET generation = ? WHERE cabinet_id IN ("+marks(len(some))+")", append([]any{l.opt.Token()}, anys(some)...)...)
		if err != nil {
			return err
		}
	}
	return l.noteIncident(ctx, tx, i, now)
}

func (l *Ledger) noteIncident(ctx context.Context, tx *sql.Tx, i fence.Incident, now int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO stock_incident (id, at, reason, place, cabinet_id, cabinets) VALUES (?,?,?,?,?,?)",
		l.opt.ID(), now, string(i.Reason), i.Place, i.Cabinet, i.Cabinets)
	return err
}

// Incidents returns up to n incidents since a time, newest first.
func (l *Ledger) Incidents(ctx context.Context, since time.Time, n int) ([]fence.Incident, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT id, at, reason, place, cabinet_id, cabinets FROM stock_incident WHERE at >= ? ORDER BY at DESC, id DESC LIMIT "+itoa(n), since.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("ledger: read incidents: %w", err)
	}
	defer rows.Close()
	var out []fence.Incident
	for rows.Next() {
		var i fence.Incident
		var at int64
		if err := rows.Scan(&i.ID, &at, &i.Reason, &i.Place, &i.Cabinet, &i.Cabinets); err != nil {
			return nil, fmt.Errorf("ledger: read incidents: %w", err)
		}
		i.At = ms(at)
		out = append(out, i)
	}
	return out, rows.Err()
}

// Generations returns every cabinet's current generation.
func (l *Ledger) Generations(ctx context.Context) (map[string]string, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT cabinet_id, generation FROM trade_cabinet")
	if err != nil {
		return nil, fmt.Errorf("ledger: read generations: %w", err)
	}
	defer rows.Close()
	all, fleet := map[string]string{}, ""
	for rows.Next() {
		var c, g string
		if err := rows.Scan(&c, &g); err != nil {
			return nil, fmt.Errorf("ledger: read generations: %w", err)
		}
		if c == fleetRow {
			fleet = g
			continue
		}
		all[c] = g
	}
	for c, g := range all {
		all[c] = generation(g, fleet)
	}
	return all, rows.Err()
}
