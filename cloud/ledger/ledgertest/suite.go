// Package ledgertest is the contract of the ledger as a test suite. Every
// database runs it: the embedded one always, the real one with its server.
package ledgertest

import (
	"database/sql"
	"testing"

	"vendline/cloud/ledger"
)

// Target is a database under test.
type Target struct {
	Dialect ledger.Dialect
	// DSN names an empty database that belongs to this test alone, as
	// ledger.Open takes it.
	DSN func(t *testing.T) string
	// Raw opens the same database without the ledger, to look at its tables.
	Raw func(dsn string) (*sql.DB, error)
	// Shared says that several services may have the database open at once.
	Shared bool
}

type promise struct {
	name  string
	check func(t *testing.T, f *Fixture)
}

// Run checks every promise, each over a database of its own, and at its end the
// invariants of stock rows and deduct log.
func Run(t *testing.T, target Target) {
	all := [][]promise{
		schema(), placements(), groups(), replaced(), transitions(), retries(), openings(), captures(), refunds(), facts(),
		commands(), results(), stocktakes(), offline(), planograms(), searches(),
		statements(), failures(), shortages(), generations(), servers(), effects(), orphans(), outboxes(), letters(), alerts(), prunes(),
		intents(), synchronous(), fallbacks(), handovers(), histories(), audits(), jobs(), findings(),
	}
	if target.Shared {
		all = append(all, faults(), outages())
	}
	for _, some := range all {
		for _, p := range some {
			t.Run(p.name, func(t *testing.T) {
				f := NewFixture(t, target)
				p.check(t, f)
				f.Invariants()
			})
		}
	}
}
