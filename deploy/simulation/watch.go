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

// watched are the databases of worlds that are being played, by file: the
// drivers of database/sql are the process's, and so is what they tell.
var watched struct {
	sync.Mutex
	by map[string]func(err error)
}

// watch has tell hear what the database of a file refuses, until stop.
func watch(file string, tell func(error)) (stop func()) {
	watched.Lock()
	defer watched.Unlock()
	if watched.by == nil {
		watched.by = map[string]func(error){}
	}
	watched.by[file] = tell
	return func() {
		watched.Lock()
		defer watched.Unlock()
		delete(watched.by, file)
	}
}

// driverFor registers a SQLite that is watched, and whose statements are
// rewritten if need be, once, and names it.
func driverFor(b Bug) string {
	watched.Lock()
	defer watched.Unlock()
	name := "sqlite, watched " + string(b)
	if !slices.Contains(sql.Drivers(), name) {
		db, err := sql.Open("sqlite", "file::memory:")
		if err != nil {
			panic(err) // unreachable: the driver is linked in, and nothing is opened yet
		}
		rewrite := rewrites[b]
		if rewrite == nil {
			rewrite = func(q string) string { return q }
		}
		sql.Register(name, watcher{db.Driver(), rewrite})
		_ = db.Close()
	}
	return name
}

type watcher struct {
	driver.Driver
	rewrite func(string) string
}

func (l watcher) Open(dsn string) (driver.Conn, error) {
	c, err := l.Driver.Open(dsn)
	if err != nil {
		return nil, err
	}
	real, ok := c.(sqliteConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("the driver has changed; wrap it anew")
	}
	file, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
	return watchedConn{real, l.rewrite, file}, nil
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

type watchedConn struct {
	sqliteConn
	rewrite func(string) string
	file    string
}

func (c watchedConn) Prepare(q string) (driver.Stmt, error) {
	return c.sqliteConn.Prepare(c.rewrite(q))
}

func (c watchedConn) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	return c.sqliteConn.PrepareContext(ctx, c.rewrite(q))
}

// ExecContext tells of refusals that no statement of ours may meet: a key that
// is there already is an answer, a NULL or a number below zero is a mistake.
func (c watchedConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	res, err := c.sqliteConn.ExecContext(ctx, c.rewrite(q), args)
	if err != nil && (strings.Contains(err.Error(), "NOT NULL constraint") || strings.Contains(err.Error(), "CHECK constraint") || strings.Contains(err.Error(), "syntax error")) {
		watched.Lock()
		tell := watched.by[c.file]
		watched.Unlock()
		if tell != nil {
			tell(err)
		}
	}
	return res, err
}

func (c watchedConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	return c.sqliteConn.QueryContext(ctx, c.rewrite(q), args)
}
