package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"vendline/cloud/statement"
)

// stockSource marks dead letters that were statements: the watermark minds them.
const stockSource = "stock"

// Letter is a message that nobody can process, kept with its reason.
type Letter struct {
	ID        string
	Source    string // "stock", "mqtt", "queue"
	Shard     int
	Reason    string
	Payload   []byte
	Meta      map[string]string
	Attempts  int
	CreatedAt time.Time // when the message came about
	BuriedAt  time.Time
}

// Bury records a message that no retry can make readable. When it returns nil
// the letter is durable and the message may be acknowledged.
func (l *Ledger) Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error {
	now := l.now()
	return l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		return l.bury(ctx, tx, Letter{ID: l.opt.ID(), Source: source, Reason: reason, Payload: payload, Meta: meta, Attempts: 1, CreatedAt: ms(now), BuriedAt: ms(now)})
	})
}

func (l *Ledger) bury(ctx context.Context, tx *sql.Tx, d Letter) error {
	meta, err := json.Marshal(d.Meta)
	if err != nil {
		return fmt.Errorf("bury: %w", err)
	}
	d.Reason = strings.ToValidUTF8(d.Reason[:min(len(d.Reason), 255)], "")
	if d.Payload == nil {
		d.Payload = []byte{} // an empty message, not NULL
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO dead_letter (id, source, shard, reason, payload, meta, attempts, created_at, buried_at) VALUES (?,?,?,?,?,?,?,?,?)",
		d.ID, d.Source, d.Shard, d.Reason, d.Payload, meta, d.Attempts, d.CreatedAt.UnixMilli(), d.BuriedAt.UnixMilli())
	if err != nil {
		return fmt.Errorf("bury: %w", err)
	}
	l.counters.DeadLetters.Add(1)
	return nil
}

func letterOf(l *Ledger, m statement.Message, reason string, created int64) Letter {
	d := Letter{ID: l.opt.ID(), Source: stockSource, Reason: reason, Payload: m.Encode(), Attempts: m.Attempt, CreatedAt: ms(created), BuriedAt: l.opt.Clock(),
		Meta: map[string]string{"id": idOf(m), "first_error": m.FirstError}}
	if len(m.Statements) > 0 {
		d.Shard = l.Shard(m.Statements[0].Cabinet)
		d.Meta["cabinet"] = m.Statements[0].Cabinet
	}
	return d
}

// Letters returns the newest n dead letters.
func (l *Ledger) Letters(ctx context.Context, n int) ([]Letter, error) {
	rows, err := l.read.QueryContext(ctx, "SELECT id, source, shard, reason, payload, meta, attempts, created_at, buried_at FROM dead_letter ORDER BY buried_at DESC, id LIMIT "+itoa(n))
	if err != nil {
		return nil, fmt.Errorf("ledger: read dead letters: %w", err)
	}
	defer rows.Close()
	var out []Letter
	for rows.Next() {
		var d Letter
		var meta []byte
		var created, buried int64
		if err := rows.Scan(&d.ID, &d.Source, &d.Shard, &d.Reason, &d.Payload, &meta, &d.Attempts, &created, &buried); err != nil {
			return nil, fmt.Errorf("ledger: read dead letters: %w", err)
		}
		if err := json.Unmarshal(meta, &d.Meta); err != nil {
			return nil, fmt.Errorf("ledger: read dead letters: %w", err)
		}
		d.CreatedAt, d.BuriedAt = ms(created), ms(buried)
		out = append(out, d)
	}
	return out, rows.Err()
}

// CountLetters returns how many dead letters there are.
func (l *Ledger) CountLetters(ctx context.Context) (n int64, err error) {
	if err := l.read.QueryRowContext(ctx, "SELECT COUNT(*) FROM dead_letter").Scan(&n); err != nil {
		return 0, fmt.Errorf("ledger: count dead letters: %w", err)
	}
	return n, nil
}
