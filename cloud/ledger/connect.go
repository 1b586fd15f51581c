package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"
)

// open returns where to write and where to read outside of transactions.
func (d Dialect) open(dsn string, log *slog.Logger) (write, read *sql.DB, err error) {
	if d.driver == "mysql" {
		db, err := openMySQL(dsn, log)
		return db, db, err
	}
	// One writer, so that transactions queue here and not in SQLITE_BUSY.
	pragmas := "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"
	if write, err = sql.Open(d.driver, "file:"+dsn+pragmas+"&_txlock=immediate"); err != nil {
		return nil, nil, err
	}
	write.SetMaxOpenConns(1)
	if read, err = sql.Open(d.driver, "file:"+dsn+pragmas); err != nil {
		_ = write.Close()
		return nil, nil, err
	}
	read.SetMaxOpenConns(4)
	return write, read, nil
}

// openMySQL bounds every wait for the server that the dsn leaves unbounded: a
// server that is away without a word must cost time, not hang for ever.
func openMySQL(dsn string, log *slog.Logger) (*sql.DB, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	for _, t := range []struct {
		set *time.Duration
		to  time.Duration
	}{{&c.Timeout, 5 * time.Second}, {&c.ReadTimeout, time.Minute}, {&c.WriteTimeout, 30 * time.Second}} {
		if *t.set == 0 {
			*t.set = t.to
		}
	}
	c.Logger = driverLog{log}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(readCommitted{connector})
	db.SetMaxOpenConns(64)
	db.SetMaxIdleConns(64)
	db.SetConnMaxLifetime(3 * time.Minute)
	return db, nil
}

// readCommitted makes READ COMMITTED every connection's isolation, by the one
// form of saying so that MySQL and MariaDB share. Saying it per transaction
// would be one more round trip on each.
type readCommitted struct{ driver.Connector }

// Connect implements driver.Connector.
func (c readCommitted) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("set the isolation level: %w", err)
	}
	return conn, nil
}

// driverLog is where the driver says why it closed a connection; the error
// itself reaches whoever was using it.
type driverLog struct{ log *slog.Logger }

func (d driverLog) Print(v ...any) { d.log.Debug("mysql: " + fmt.Sprint(v...)) }
