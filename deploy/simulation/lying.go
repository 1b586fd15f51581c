package simulation

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver that is lied about
)

// rewrites are mistakes in SQL, planted on its way to the database.
var rewrites = map[Bug]func(query string) string{
	CaseWithoutElse: func(q string) string {
		if strings.HasPrefix(q, "UPDATE trade_sku_stock SET ") {
			q = strings.ReplaceAll(q, " ELSE 0 END", " END")
		}
		return q
	},
	CursorByID: func(q string) string { // past the last row that was read, whatever commits behind it
		if strings.Contains(q, "FROM local_msg WHERE kind = ? AND due_at <= ? ORDER BY due_at") {
			q = strings.Replace(q, "due_at <= ? ORDER BY due_at", "due_at <= ? AND id > COALESCE((SELECT MAX(m.id) FROM local_msg m WHERE m.kind = local_msg.kind AND m.attempts > 0), '') ORDER BY id", 1)
		}
		return q
	},
}

var registering sync.Mutex

// lying registers a SQLite whose statements are rewritten, once, and names it.
func lying(name string, rewrite func(string) string) string {
	registering.Lock()
	defer registering.Unlock()
	name = "sqlite, but " + name
	if !slices.Contains(sql.Drivers(), name) {
		db, err := sql.Open("sqlite", "file::memory:")
		if err != nil {
			panic(err) // unreachable: the driver is linked in, and nothing is opened yet
		}
		sql.Register(name, liar{db.Driver(), rewrite})
		_ = db.Close()
	}
	return name
}

type liar struct {
	driver.Driver
	rewrite func(string) string
}

func (l liar) Open(dsn string) (driver.Conn, error) {
	c, err := l.Driver.Open(dsn)
	if err != nil {
		return nil, err
	}
	real, ok := c.(sqliteConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("the driver has changed; wrap it anew")
	}
	return lyingConn{real, l.rewrite}, nil
}

// sqliteConn is what database/sql uses of a connection.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type lyingConn struct {
	sqliteConn
	rewrite func(string) string
}

func (c lyingConn) Prepare(q string) (driver.Stmt, error) { return c.sqliteConn.Prepare(c.rewrite(q)) }

func (c lyingConn) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	return c.sqliteConn.PrepareContext(ctx, c.rewrite(q))
}

func (c lyingConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	return c.sqliteConn.ExecContext(ctx, c.rewrite(q), args)
}

func (c lyingConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	return c.sqliteConn.QueryContext(ctx, c.rewrite(q), args)
}
