// Package ledger, steps 6 and 8 of 8: orders, money and stock in MySQL, the
// truth that everything else can be rebuilt from.
//
// Step 6 commits an order, its lines, its ticket and its outbox rows in one
// transaction, shared by all who came at the same time (place.go). Step 8 moves
// stock from what the deduct log knows to what the statements say, many at once
// (apply.go). Both run unchanged on MySQL, MariaDB and, embedded, SQLite.
package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/group"
)

// Options configure a ledger. Clock, ID and Token are required.
type Options struct {
	Clock func() time.Time
	ID    func() string // UUIDv7: outbox rows, drift facts
	Token func() string // fresh random generation token, 1–19 of [0-9a-f]
	Log   *slog.Logger

	Shards  int           // shards of the stock topic; 0 means 4
	Hold    time.Duration // how long a hold waits for payment; 0 means 15 min
	Holds   int           // most unpaid holds of one shopper; the oldest give way; 0 or less: no bound, and none is replaced
	Vend    time.Duration // by when a cabinet has to begin with a paid order; 0 means 1 min
	Feed    func([]outbox.Row)
	Changed func([]order.Order) // told of every committed order state; must not block
	Direct  bool                // synchronous mode: stock moves in the order's own transaction
	Group   int                 // most orders of one commit; 0 means 256
	Workers int                 // commits under way at once; 0 means 1: the largest groups, the fewest commits
}

// Ledger is safe for concurrent use.
type Ledger struct {
	dialect  Dialect
	db       *sql.DB // writes
	read     *sql.DB // reads outside transactions
	opt      Options
	placing  *group.Group[order.Placement]
	moving   *group.Group[order.Change]
	facts    *group.Group[factItem]
	intents  *group.Group[order.Order]
	refusals *group.Group[order.Refused]
	stockID  stockIDs

	sessions sessions
	counters Counters

	planograms sync.Mutex // one setter at a time

	fleet   string      // synchronous mode: the fleet token this process drew
	drained atomic.Bool // synchronous mode: no statement of the other mode waits
}

// Open connects, checks that the server keeps what it commits, brings the
// schema up to date, and starts the commit groups. Close must be called.
//
// dsn is go-sql-driver's for MySQL, a file path for SQLite.
func Open(ctx context.Context, d Dialect, dsn string, opt Options) (*Ledger, error) {
	if opt.Shards <= 0 {
		opt.Shards = 4
	}
	if opt.Hold <= 0 {
		opt.Hold = 15 * time.Minute
	}
	if opt.Vend <= 0 {
		opt.Vend = time.Minute
	}
	if opt.Group <= 0 {
		opt.Group = 256
	}
	if opt.Workers <= 0 {
		opt.Workers = 1
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Feed == nil {
		opt.Feed = func([]outbox.Row) {}
	}
	if opt.Changed == nil {
		opt.Changed = func([]order.Order) {}
	}
	l := &Ledger{dialect: d, opt: opt, stockID: stockIDs{ids: map[stockKey]int64{}}, sessions: sessions{last: map[string]int64{}}}
	var err error
	if l.db, l.read, err = d.open(dsn, opt.Log); err != nil {
		return nil, fmt.Errorf("ledger: open: %w", err)
	}
	if err := l.prepare(ctx); err != nil {
		l.closeDB()
		return nil, err
	}
	if opt.Direct {
		if err := l.takeFleet(ctx); err != nil {
			l.closeDB()
			return nil, fmt.Errorf("ledger: enter synchronous mode: %w", err)
		}
	} else if err := l.leaveDirect(ctx); err != nil {
		l.closeDB()
		return nil, fmt.Errorf("ledger: leave synchronous mode: %w", err)
	}
	l.placing = group.New(group.Options{Max: opt.Group, Workers: opt.Workers}, l.placeGroup)
	l.moving = group.New(group.Options{Max: opt.Group, Workers: opt.Workers}, l.moveGroup)
	l.intents = group.New(group.Options{Max: opt.Group, Workers: opt.Workers}, l.takeInGroup)
	l.refusals = group.New(group.Options{Max: opt.Group, Workers: 1}, l.refuseGroup)
	l.facts = group.New(group.Options{Max: opt.Group, Workers: 1}, l.factGroup)
	l.sessions.group = group.New(group.Options{Max: opt.Group, Workers: 1}, l.seeGroup)
	return l, nil
}

func (l *Ledger) prepare(ctx context.Context) error {
	if err := l.db.PingContext(ctx); err != nil {
		return fmt.Errorf("ledger: the database does not answer: %w", err)
	}
	if l.dialect.name == "mysql" {
		var version string
		if err := l.db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
			return fmt.Errorf("ledger: read the server's version: %w", err)
		}
		if strings.Contains(version, "MariaDB") {
			l.dialect.shareFree = " LOCK IN SHARE MODE SKIP LOCKED" // its one difference from MySQL 8 that matters here
		}
		var flush int
		if err := l.db.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit").Scan(&flush); err != nil {
			return fmt.Errorf("ledger: read innodb_flush_log_at_trx_commit: %w", err)
		}
		if flush != 1 {
			return fmt.Errorf("ledger: innodb_flush_log_at_trx_commit is %d: a commit would not survive a power cut; set it to 1", flush)
		}
	}
	return l.migrate(ctx)
}

// Close finishes the groups under way and disconnects.
func (l *Ledger) Close() {
	l.placing.Close()
	l.moving.Close()
	l.intents.Close()
	l.refusals.Close()
	l.facts.Close()
	l.sessions.group.Close()
	l.closeDB()
}

func (l *Ledger) closeDB() {
	_ = l.db.Close()
	if l.read != l.db {
		_ = l.read.Close()
	}
}

// inTx runs fn in a transaction at isolation level iso, and again while the
// failure is transient and ctx lives. fn must therefore have no effect outside
// the transaction that it cannot repeat.
func (l *Ledger) inTx(ctx context.Context, iso sql.IsolationLevel, fn func(tx *sql.Tx) error) error {
	return l.again(ctx, func() error { return l.once(ctx, iso, fn) })
}

// again runs what may be repeated until it succeeds, fails for good, or ctx ends.
func (l *Ledger) again(ctx context.Context, try func() error) error {
	wait := 5 * time.Millisecond
	for {
		err := try()
		if err == nil || !transient(err) || ctx.Err() != nil {
			return err
		}
		l.counters.Conflicts.Add(1)
		l.opt.Log.Debug("transaction runs again", "error", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
		wait = min(2*wait, time.Second)
	}
}

func (l *Ledger) once(ctx context.Context, iso sql.IsolationLevel, fn func(tx *sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, &sql.TxOptions{Isolation: iso})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Shard says which queue and consumer a cabinet's messages go to.
func (l *Ledger) Shard(cabinet string) int { return statement.Shard(cabinet, l.opt.Shards) }

func (l *Ledger) now() int64 { return l.opt.Clock().UnixMilli() }

func ms(t int64) time.Time { return time.UnixMilli(t).UTC() }

// maxArgs keeps a statement below SQLite's 32,766 and MySQL's 65,535 parameters.
const maxArgs = 30000

// insertRows runs prefix with as many "(?,…)" groups of cols as args fill, in
// as few statements as the parameter limit allows.
func insertRows(ctx context.Context, tx *sql.Tx, prefix string, cols int, args []any, suffix string) error {
	for len(args) > 0 {
		n := min(len(args), maxArgs/cols*cols)
		if _, err := tx.ExecContext(ctx, prefix+" VALUES "+groups(n/cols, cols)+suffix, args[:n]...); err != nil {
			return err
		}
		args = args[n:]
	}
	return nil
}

func groups(n, cols int) string {
	one := "(" + marks(cols) + ")"
	var b strings.Builder
	b.Grow(n * (len(one) + 1))
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(one)
	}
	return b.String()
}

func marks(n int) string {
	if n <= 0 {
		return ""
	}
	return strings.Repeat("?,", n-1) + "?"
}

func anys[T any](s []T) []any {
	out := make([]any, len(s))
	for i, v := range s {
		out[i] = v
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }

// Ping asks the database for a sign of life.
func (l *Ledger) Ping(ctx context.Context) error { return l.db.PingContext(ctx) }
