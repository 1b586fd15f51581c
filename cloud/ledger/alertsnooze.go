package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"vendline/cloud/alert"
)

// Snooze keeps alerts from being told until a time. The snooze and its event are
// one transaction; another of the same alert takes its place.
func (l *Ledger) Snooze(ctx context.Context, s alert.Snooze) error {
	labels, err := json.Marshal(s.Labels)
	if err != nil {
		return fmt.Errorf("ledger: snooze: %w", err)
	}
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		if s.Key != "" {
			if _, err := tx.ExecContext(ctx, "DELETE FROM alert_snooze WHERE alert_key = ?", s.Key); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO alert_snooze (id, alert_key, rule, labels, until_at, reason, by_whom, at) VALUES (?,?,?,?,?,?,?,?)",
			s.ID, s.Key, s.Rule, string(labels), s.Until.UnixMilli(), s.Reason, s.By, s.At.UnixMilli())
		if err != nil {
			return err
		}
		return l.alertEvent(ctx, tx, snoozeSubject(s), s.By, "snoozed", "until "+s.Until.UTC().Format("2006-01-02 15:04 UTC")+": "+s.Reason)
	})
	if err != nil {
		return fmt.Errorf("ledger: snooze: %w", err)
	}
	return nil
}

func snoozeSubject(s alert.Snooze) string {
	if s.Key != "" {
		return s.Key
	}
	return cut(alert.KeyOf(s.Rule, s.Labels)+":*", 128)
}

// EndSnooze ends the snooze of an alert, or one by its id, before its time.
func (l *Ledger) EndSnooze(ctx context.Context, keyOrID, who string) error {
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		found, err := readSnoozes(ctx, tx, " WHERE (alert_key = ? OR id = ?) AND until_at > ?", keyOrID, keyOrID, l.now())
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return alert.ErrNoSnooze
		}
		for _, s := range found {
			if _, err := tx.ExecContext(ctx, "DELETE FROM alert_snooze WHERE id = ?", s.ID); err != nil {
				return err
			}
			if err := l.alertEvent(ctx, tx, snoozeSubject(s), who, "snooze_ended", s.Reason); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("ledger: end a snooze: %w", err)
	}
	return nil
}

// Snoozes returns those that are in force, those that end last first.
func (l *Ledger) Snoozes(ctx context.Context) ([]alert.Snooze, error) {
	out, err := readSnoozes(ctx, l.read, " WHERE until_at > ?", l.now())
	if err != nil {
		return nil, fmt.Errorf("ledger: read snoozes: %w", err)
	}
	return out, nil
}

func readSnoozes(ctx context.Context, db querier, where string, args ...any) ([]alert.Snooze, error) {
	rows, err := db.QueryContext(ctx, "SELECT id, alert_key, rule, labels, until_at, reason, by_whom, at FROM alert_snooze"+where+" ORDER BY until_at DESC, id", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []alert.Snooze
	for rows.Next() {
		var s alert.Snooze
		var labels string
		var until, at int64
		if err := rows.Scan(&s.ID, &s.Key, &s.Rule, &labels, &until, &s.Reason, &s.By, &at); err != nil {
			return nil, err
		}
		if strings.HasPrefix(labels, "{") {
			if err := json.Unmarshal([]byte(labels), &s.Labels); err != nil {
				return nil, err
			}
		}
		s.Until, s.At = ms(until), ms(at)
		out = append(out, s)
	}
	return out, rows.Err()
}
