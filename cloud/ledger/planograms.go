package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

// Planograms returns how the planograms of cabinets stand. A cabinet without one
// is missing.
func (l *Ledger) Planograms(ctx context.Context, cabinets ...string) (map[string]planogram.State, error) {
	out := make(map[string]planogram.State, len(cabinets))
	if len(cabinets) == 0 {
		return out, nil
	}
	rows, err := l.read.QueryContext(ctx, `SELECT p.cabinet_id, p.version, p.body, p.created_at, COALESCE(a.version, 0), COALESCE(a.acked_at, 0)
		FROM (SELECT cabinet_id, MAX(version) AS newest, MAX(CASE WHEN acked_at IS NOT NULL THEN version END) AS acked
			FROM trade_planogram WHERE cabinet_id IN (`+marks(len(cabinets))+`) GROUP BY cabinet_id) AS t
		JOIN trade_planogram p ON p.cabinet_id = t.cabinet_id AND p.version = t.newest
		LEFT JOIN trade_planogram a ON a.cabinet_id = t.cabinet_id AND a.version = t.acked`, anys(cabinets)...)
	if err != nil {
		return nil, fmt.Errorf("ledger: read planograms: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s planogram.State
		var version, since, acked int64
		var body []byte
		if err := rows.Scan(&s.Cabinet, &version, &body, &since, &s.Acked, &acked); err != nil {
			return nil, fmt.Errorf("ledger: read planograms: %w", err)
		}
		if err := json.Unmarshal(body, &s.Planogram); err != nil {
			return nil, fmt.Errorf("ledger: read planogram %d of %s: %w", version, s.Cabinet, err)
		}
		s.Version, s.Since = version, ms(since)
		if s.Acked > 0 {
			s.AckedAt = ms(acked)
		}
		out[s.Cabinet] = s
	}
	return out, rows.Err()
}

// PlanogramAt returns a cabinet's planogram as of a version; ok is false when
// there is none of it.
func (l *Ledger) PlanogramAt(ctx context.Context, cabinet string, version int64) (p wire.Planogram, ok bool, err error) {
	var body []byte
	err = l.read.QueryRowContext(ctx, "SELECT body FROM trade_planogram WHERE cabinet_id = ? AND version = ?", cabinet, version).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return p, false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	if err != nil {
		return p, false, fmt.Errorf("ledger: read planogram %d of %s: %w", version, cabinet, err)
	}
	return p, true, nil
}

// PlanogramChanges tells which cabinets have had a new planogram since number
// after, their newest versions, and the number up to which this is so. A
// negative after asks for the number alone.
func (l *Ledger) PlanogramChanges(ctx context.Context, after int64) (versions map[string]int64, upto int64, err error) {
	versions = map[string]int64{}
	if after < 0 {
		var last sql.NullInt64
		if err := l.read.QueryRowContext(ctx, "SELECT MAX(seq) FROM trade_planogram").Scan(&last); err != nil {
			return nil, after, fmt.Errorf("ledger: read the last planogram's number: %w", err)
		}
		return versions, last.Int64, nil
	}
	rows, err := l.read.QueryContext(ctx, "SELECT seq, cabinet_id, version FROM trade_planogram WHERE seq > ? ORDER BY seq", after)
	if err != nil {
		return nil, after, fmt.Errorf("ledger: read new planograms: %w", err)
	}
	defer rows.Close()
	upto = after
	for rows.Next() {
		var cabinet string
		var version int64
		if err := rows.Scan(&upto, &cabinet, &version); err != nil {
			return nil, after, fmt.Errorf("ledger: read new planograms: %w", err)
		}
		versions[cabinet] = max(versions[cabinet], version)
	}
	return versions, upto, rows.Err()
}

// unacked are cabinets whose newest planogram they do not work by yet.
const unacked = `
	FROM (SELECT cabinet_id, MAX(version) AS newest, MAX(CASE WHEN acked_at IS NOT NULL THEN version END) AS acked
		FROM trade_planogram GROUP BY cabinet_id) AS t
	JOIN trade_planogram p ON p.cabinet_id = t.cabinet_id AND p.version = t.newest
	WHERE p.acked_at IS NULL`

// UnackedPlanograms returns up to n cabinets that do not work by their newest
// planogram yet, those that wait longest first.
func (l *Ledger) UnackedPlanograms(ctx context.Context, n int) ([]planogram.Unacked, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT p.cabinet_id, p.version, p.created_at, COALESCE(t.acked, 0)"+unacked+" ORDER BY p.created_at, p.cabinet_id LIMIT "+itoa(n))
	if err != nil {
		return nil, fmt.Errorf("ledger: list planograms without an answer: %w", err)
	}
	defer rows.Close()
	var out []planogram.Unacked
	for rows.Next() {
		var u planogram.Unacked
		var since int64
		if err := rows.Scan(&u.Cabinet, &u.Version, &since, &u.Acked); err != nil {
			return nil, fmt.Errorf("ledger: list planograms without an answer: %w", err)
		}
		u.Since = ms(since)
		out = append(out, u)
	}
	return out, rows.Err()
}

// CountUnackedPlanograms is how many there are.
func (l *Ledger) CountUnackedPlanograms(ctx context.Context) (n int64, err error) {
	if err := l.read.QueryRowContext(ctx, "SELECT COUNT(*)"+unacked).Scan(&n); err != nil {
		return 0, fmt.Errorf("ledger: count planograms without an answer: %w", err)
	}
	return n, nil
}
