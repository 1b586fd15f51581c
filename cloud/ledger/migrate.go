package ledger

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

//go:embed migrations
var migrations embed.FS

// migrate brings the schema up to date. On MySQL, DDL commits by itself, so one
// file holds one statement and a named lock keeps two services from running
// them at once.
func (l *Ledger) migrate(ctx context.Context) error {
	dir, err := fs.Sub(migrations, "migrations/"+l.dialect.name)
	if err != nil {
		return fmt.Errorf("ledger: migrations: %w", err)
	}
	unlock, err := l.migrationLock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	dialect := database.DialectSQLite3
	if l.dialect.name == "mysql" {
		dialect = database.DialectMySQL
	}
	p, err := goose.NewProvider(dialect, l.read, dir, goose.WithAllowOutofOrder(true)) // features number theirs ahead
	if err != nil {
		return fmt.Errorf("ledger: migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("ledger: bring the schema up to date: %w", err)
	}
	return nil
}

func (l *Ledger) migrationLock(ctx context.Context) (unlock func(), err error) {
	if l.dialect.name != "mysql" {
		return func() {}, nil // the file has one owner
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("ledger: migration lock: %w", err)
	}
	var got sql.NullInt64
	// The lock is the server's, so its name carries the database's.
	err = conn.QueryRowContext(ctx, "SELECT GET_LOCK(CONCAT('vendline-migrate-', DATABASE()), 60)").Scan(&got)
	if err != nil || got.Int64 != 1 {
		_ = conn.Close()
		return nil, fmt.Errorf("ledger: another service has been migrating for 60 s (%v)", err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = conn.ExecContext(ctx, "SELECT RELEASE_LOCK(CONCAT('vendline-migrate-', DATABASE()))")
		_ = conn.Close()
	}, nil
}
