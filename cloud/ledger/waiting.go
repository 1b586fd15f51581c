package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"vendline/cloud/outbox"
	"vendline/cloud/statement"
)

// shortDelay is how long a short SKU's statements wait for a release.
const shortDelay = time.Second

// wait puts lines that could not be applied yet back into the outbox, as old as
// the oldest message of their batch, so that the watermark does not pass them.
// What came in a message whose row is gone was put back when it came before.
func (l *Ledger) wait(ctx context.Context, tx *sql.Tx, msgs []statement.Message, waiting []statement.Statement, ages map[string]int64) error {
	created := int64(math.MaxInt64)
	fresh := map[string]bool{}
	for _, m := range msgs {
		at, ok := ages[m.Row]
		if !ok {
			continue
		}
		created = min(created, at)
		for _, s := range m.Statements {
			fresh[s.ID] = true
		}
	}
	waiting = slices.DeleteFunc(slices.Clone(waiting), func(s statement.Statement) bool { return !fresh[s.ID] })
	return l.insertMsgs(ctx, tx, l.stockRows(waiting, created, l.now()+shortDelay.Milliseconds()))
}

// stockRows spreads statements over as few rows as shards and size allow.
func (l *Ledger) stockRows(sts []statement.Statement, created, due int64) []outbox.Row {
	byShard := map[int][]statement.Statement{}
	for _, s := range sts {
		k := l.Shard(s.Cabinet)
		byShard[k] = append(byShard[k], s)
	}
	var rows []outbox.Row
	for _, sts := range byShard {
		for some := range slices.Chunk(sts, maxStatements) {
			rows = append(rows, l.stockRow(statement.Message{Row: l.opt.ID(), Statements: some}, created, due))
		}
	}
	return rows
}

func (l *Ledger) stockRow(m statement.Message, created, due int64) outbox.Row {
	shard := 0
	if len(m.Statements) > 0 {
		shard = l.Shard(m.Statements[0].Cabinet)
	}
	return outbox.Row{ID: m.Row, Kind: outbox.KindStock, Shard: shard, Payload: m.Encode(), CreatedAt: ms(created), DueAt: ms(due)}
}

// rowAges is when the rows of messages were written, Unix ms, for those that
// are still there. It locks them, so that of two deliveries of a message one
// finds its row gone.
func (l *Ledger) rowAges(ctx context.Context, tx *sql.Tx, msgs []statement.Message) (map[string]int64, error) {
	ids := make([]any, len(msgs))
	for i, m := range msgs {
		ids[i] = m.Row
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, created_at FROM local_msg WHERE id IN ("+marks(len(ids))+") ORDER BY id"+l.dialect.forUpdate, ids...)
	if err != nil {
		return nil, fmt.Errorf("read outbox rows: %w", err)
	}
	defer rows.Close()
	ages := make(map[string]int64, len(msgs))
	for rows.Next() {
		var id string
		var at int64
		if err := rows.Scan(&id, &at); err != nil {
			return nil, fmt.Errorf("read outbox rows: %w", err)
		}
		ages[id] = at
	}
	return ages, rows.Err()
}

func deleteMsgs(ctx context.Context, db execer, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := db.ExecContext(ctx, "DELETE FROM local_msg WHERE id IN ("+marks(len(ids))+")", anys(ids)...)
	if err != nil {
		return fmt.Errorf("delete outbox rows: %w", err)
	}
	return nil
}

// execer is a transaction, or a database whose statements are their own.
type execer interface {
	ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error)
}
