package ledger

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Dialect is all that differs between the databases the ledger speaks to.
type Dialect struct {
	name       string
	driver     string
	forUpdate  string // suffix: lock the rows read, exclusively
	forShare   string // suffix: lock the rows read against writers
	shareFree  string // … leaving out rows that a writer holds
	skipLocked string // suffix: lock what nobody else has locked
	insertNew  string // prefix: insert, leaving rows that exist alone
	upsertLog  string // suffix of the deduct log's insert
	upsertSeen string // suffix of the insert of an order's session
	commit     sql.IsolationLevel
	snapshot   sql.IsolationLevel
}

// MySQL speaks to MySQL 8 and MariaDB 10.11. Transactions that decide run under
// READ COMMITTED: under REPEATABLE READ, shared inserts into the outbox and
// deletes of applied rows deadlock on gap locks within seconds of load. Every
// connection is set to it (see readCommitted), so commit is the default level.
func MySQL() Dialect {
	return Dialect{
		name: "mysql", driver: "mysql",
		forUpdate: " FOR UPDATE", forShare: " LOCK IN SHARE MODE", shareFree: " FOR SHARE SKIP LOCKED", skipLocked: " FOR UPDATE SKIP LOCKED",
		insertNew:  "INSERT IGNORE INTO ",
		upsertLog:  " ON DUPLICATE KEY UPDATE status = VALUES(status), version = VALUES(version), changed_at = VALUES(changed_at)",
		upsertSeen: " ON DUPLICATE KEY UPDATE seen_at = VALUES(seen_at)",
		snapshot:   sql.LevelRepeatableRead,
	}
}

// SQLite speaks to the embedded database: one writer, WAL, synchronous=FULL, so
// every transaction is serial and needs no row locks.
func SQLite() Dialect {
	return Dialect{
		name: "sqlite", driver: "sqlite",
		insertNew:  "INSERT OR IGNORE INTO ",
		upsertLog:  " ON CONFLICT (order_sn, sku_id) DO UPDATE SET status = excluded.status, version = excluded.version, changed_at = excluded.changed_at",
		upsertSeen: " ON CONFLICT (order_sn) DO UPDATE SET seen_at = excluded.seen_at",
	}
}

// Over is d over another driver, by its name in database/sql: one that stands
// between us and d's own, to trace it, or to try what happens when it lies.
func (d Dialect) Over(driver string) Dialect {
	d.driver = driver
	return d
}

// duplicate reports whether err is a unique key's refusal.
func duplicate(err error) bool {
	var m *mysql.MySQLError
	if errors.As(err, &m) {
		return m.Number == 1062
	}
	var s *sqlite.Error
	return errors.As(err, &s) && (s.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || s.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE)
}

// transient reports whether the same transaction may succeed when it is run
// again: the server is away, or it chose this transaction as a deadlock victim.
// It is then nobody's fault, and costs time only.
func transient(err error) bool {
	var m *mysql.MySQLError
	if errors.As(err, &m) {
		switch m.Number {
		case 1205, 1213, 1020, // lock wait timeout, deadlock, changed since the snapshot
			1040, 1047, 1053, 1152, 1158, 1159, 1160, 1161, 1203, 1290, 1317, 1792, 1836, 1927, 3024, 3169, 4031:
			return true // too many connections, shutdown, network, read-only, killed
		}
		return false
	}
	var s *sqlite.Error
	if errors.As(err, &s) {
		return s.Code()&0xff == sqlite3.SQLITE_BUSY || s.Code()&0xff == sqlite3.SQLITE_LOCKED
	}
	if errors.Is(err, errBuriedBeside) {
		return true
	}
	var n net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.EOF) ||
		errors.Is(err, sql.ErrConnDone) || errors.As(err, &n) || strings.Contains(err.Error(), "broken pipe")
}
