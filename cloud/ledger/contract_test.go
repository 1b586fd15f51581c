package ledger_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"vendline/cloud/ledger"
	"vendline/cloud/ledger/ledgertest"
	"vendline/deploy/stack"
)

func TestSQLiteKeepsTheContract(t *testing.T) {
	ledgertest.Run(t, sqlite())
}

func TestMariaDBKeepsTheContract(t *testing.T) {
	if !testing.Short() {
		ledgertest.Run(t, mariadb(stack.Need(t)))
	}
}

func sqlite() ledgertest.Target {
	return ledgertest.Target{
		Dialect: ledger.SQLite(),
		DSN:     func(t *testing.T) string { return filepath.Join(t.TempDir(), "ledger.db") },
		Raw: func(dsn string) (*sql.DB, error) {
			return sql.Open("sqlite", "file:"+dsn+"?_pragma=busy_timeout(10000)")
		},
	}
}

func mariadb(servers *stack.Description) ledgertest.Target {
	return ledgertest.Target{
		Dialect: ledger.MySQL(),
		DSN:     func(t *testing.T) string { return servers.Database(t) },
		Raw:     func(dsn string) (*sql.DB, error) { return sql.Open("mysql", dsn) },
		Shared:  true,
	}
}
