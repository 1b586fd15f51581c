package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"vendline/cloud/alert"
	"vendline/cloud/outbox"
)

// evaluatorLease is the name of the lease of whoever evaluates alerts.
const evaluatorLease = "evaluator"

// HoldAlerts implements alert.Store. Two who ask at once are told apart by the
// row's lock; a holder whose time is over has to ask like everybody.
func (l *Ledger) HoldAlerts(ctx context.Context, holder string, d time.Duration) (bool, error) {
	got, err := l.takeLease(ctx, evaluatorLease, holder, d, true)
	if err != nil {
		return false, fmt.Errorf("ledger: hold the alerts' lease: %w", err)
	}
	return got.IsZero(), nil
}

// Turn implements alert.Outbox: a lease that nobody renews.
func (l *Ledger) Turn(ctx context.Context, sink string, every time.Duration) (time.Time, error) {
	next, err := l.takeLease(ctx, "sink "+cut(sink, 80), l.opt.ID(), every, false)
	if err != nil {
		return time.Time{}, fmt.Errorf("ledger: take a turn at sink %s: %w", sink, err)
	}
	return next, nil
}

// takeLease takes a lease that is over, or that is holder's already; else it
// says when it will be over.
func (l *Ledger) takeLease(ctx context.Context, name, holder string, d time.Duration, renew bool) (over time.Time, err error) {
	now := l.now()
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		over = time.Time{}
		if _, err := tx.ExecContext(ctx, l.dialect.insertNew+"alert_lease (name, holder, until_at) VALUES (?,'',0)", name); err != nil {
			return err
		}
		var has string
		var until int64
		if err := tx.QueryRowContext(ctx, "SELECT holder, until_at FROM alert_lease WHERE name = ?"+l.dialect.forUpdate, name).Scan(&has, &until); err != nil {
			return err
		}
		if until > now && (!renew || has != holder) {
			over = ms(until)
			return nil
		}
		_, err := tx.ExecContext(ctx, "UPDATE alert_lease SET holder = ?, until_at = ? WHERE name = ?", holder, now+d.Milliseconds(), name)
		return err
	})
	return over, err
}

// Alerts implements alert.Store.
func (l *Ledger) Alerts(ctx context.Context) ([]alert.Alert, error) {
	snoozes, err := l.Snoozes(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := l.read.QueryContext(ctx, "SELECT version, body FROM alert ORDER BY alert_key")
	if err != nil {
		return nil, fmt.Errorf("ledger: read alerts: %w", err)
	}
	defer rows.Close()
	now := ms(l.now())
	var out []alert.Alert
	for rows.Next() {
		var version int64
		var body []byte
		if err := rows.Scan(&version, &body); err != nil {
			return nil, fmt.Errorf("ledger: read alerts: %w", err)
		}
		var a alert.Alert
		if err := json.Unmarshal(body, &a); err != nil {
			return nil, fmt.Errorf("ledger: read alerts: %w", err)
		}
		a.Version, a.Snooze = version, nil
		for _, s := range snoozes { // the one that lasts longest
			if s.Covers(a, now) && (a.Snooze == nil || s.Until.After(a.Snooze.Until)) {
				a.Snooze = &s
			}
		}
		out = append(out, a)
	}
	return out, rows.Err()
}

// SaveAlert implements alert.Store.
//
// Promise: state, event and notifications are one transaction, and it happens
// once: the version is compared and raised in it. Dies before the commit: the
// next evaluation finds the old state and decides again. Dies after it: the rows
// are in the outbox. A commit whose answer was lost runs again, finds the
// version moved, and is told of as overtaken; its rows are left for the poll.
func (l *Ledger) SaveAlert(ctx context.Context, holder string, c alert.Change) error {
	a := c.Alert
	was := a.Version
	a.Version, a.Snooze = was+1, nil
	body := encode(a)
	var rows []outbox.Row
	for _, n := range c.Notifications {
		now := l.now()
		rows = append(rows, outbox.Row{ID: n.ID, Kind: outbox.KindAlert, Payload: encode(n), CreatedAt: ms(now), DueAt: ms(now).Add(outbox.ScheduleOf(outbox.KindAlert).First)})
	}
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		var has string
		var until int64
		err := tx.QueryRowContext(ctx, "SELECT holder, until_at FROM alert_lease WHERE name = ?"+l.dialect.forShare, evaluatorLease).Scan(&has, &until)
		if err != nil {
			return err
		}
		if has != holder || until <= l.now() {
			return alert.ErrOvertaken
		}
		if err := l.putAlert(ctx, tx, a, was, body); err != nil {
			return err
		}
		if c.Event != "" {
			if err := l.alertEvent(ctx, tx, a.Key, alert.Evaluating, c.Event, c.Note); err != nil {
				return err
			}
		}
		return l.insertMsgs(ctx, tx, rows)
	})
	if err != nil {
		return fmt.Errorf("ledger: save alert %s: %w", a.Key, err)
	}
	l.opt.Feed(rows)
	return nil
}

func (l *Ledger) putAlert(ctx context.Context, tx *sql.Tx, a alert.Alert, was int64, body []byte) error {
	var notified int64
	if !a.NotifiedAt.IsZero() {
		notified = a.NotifiedAt.UnixMilli()
	}
	if was == 0 {
		_, err := tx.ExecContext(ctx, "INSERT INTO alert (alert_key, rule, severity, state, version, since, seen_at, notified_at, body) VALUES (?,?,?,?,?,?,?,?,?)",
			a.Key, a.Rule, string(a.Severity), string(a.State), a.Version, a.Since.UnixMilli(), a.SeenAt.UnixMilli(), notified, body)
		if duplicate(err) {
			return alert.ErrOvertaken
		}
		return err
	}
	res, err := tx.ExecContext(ctx, "UPDATE alert SET severity = ?, state = ?, version = ?, since = ?, seen_at = ?, notified_at = ?, body = ? WHERE alert_key = ? AND version = ?",
		string(a.Severity), string(a.State), a.Version, a.Since.UnixMilli(), a.SeenAt.UnixMilli(), notified, body, a.Key, was)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return alert.ErrOvertaken
}

func (l *Ledger) alertEvent(ctx context.Context, tx *sql.Tx, key, who, what, note string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO alert_event (id, alert_key, at, who, what, note) VALUES (?,?,?,?,?,?)",
		l.opt.ID(), key, l.now(), cut(cmp.Or(who, "operator"), 64), what, cut(note, 1000))
	if err != nil {
		return fmt.Errorf("note what became of the alert: %w", err)
	}
	return nil
}

// AlertEvents returns the newest n events.
func (l *Ledger) AlertEvents(ctx context.Context, n int) ([]alert.Event, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT id, alert_key, at, who, what, note FROM alert_event ORDER BY at DESC, id DESC LIMIT "+itoa(n))
	if err != nil {
		return nil, fmt.Errorf("ledger: read alert events: %w", err)
	}
	defer rows.Close()
	var out []alert.Event
	for rows.Next() {
		var e alert.Event
		var at int64
		if err := rows.Scan(&e.ID, &e.Key, &at, &e.Who, &e.What, &e.Note); err != nil {
			return nil, fmt.Errorf("ledger: read alert events: %w", err)
		}
		e.At = ms(at)
		out = append(out, e)
	}
	return out, rows.Err()
}

// AlertRows implements alert.Outbox.
func (l *Ledger) AlertRows(ctx context.Context) ([]outbox.Row, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT id, payload, attempts, created_at, due_at FROM local_msg WHERE kind = ? ORDER BY created_at, id LIMIT 20000", string(outbox.KindAlert))
	if err != nil {
		return nil, fmt.Errorf("ledger: read notifications: %w", err)
	}
	defer rows.Close()
	var out []outbox.Row
	for rows.Next() {
		r := outbox.Row{Kind: outbox.KindAlert}
		var created, due int64
		if err := rows.Scan(&r.ID, &r.Payload, &r.Attempts, &created, &due); err != nil {
			return nil, fmt.Errorf("ledger: read notifications: %w", err)
		}
		r.CreatedAt, r.DueAt = ms(created), ms(due)
		out = append(out, r)
	}
	return out, rows.Err()
}

// WaitAlerts implements alert.Outbox: the claim that found the rows not ready is
// taken back.
func (l *Ledger) WaitAlerts(ctx context.Context, until time.Time, ids ...string) error {
	for len(ids) > 0 {
		some := ids[:min(len(ids), 500)]
		ids = ids[len(some):]
		_, err := l.db.ExecContext(ctx, "UPDATE local_msg SET due_at = ?, attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END WHERE id IN ("+marks(len(some))+")",
			append([]any{until.UnixMilli()}, anys(some)...)...)
		if err != nil {
			return fmt.Errorf("ledger: let notifications wait: %w", err)
		}
	}
	return nil
}
