package ledger_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"vendline/cloud/ledger/ledgertest"
	"vendline/deploy/stack"
)

// The page of retention is run as it stands: partitions, checks, the drop of a
// month, and deletes. Before, between and after, orders live on these tables.
func TestTheRetentionPlanIsWhatTheDatabaseSpeaks(t *testing.T) {
	if testing.Short() {
		return // needs MariaDB
	}
	page, err := os.ReadFile("../../docs/retention.md")
	if err != nil {
		t.Fatal(err)
	}
	f := ledgertest.NewFixture(t, mariadb(stack.Need(t)))
	f.OrdersLive()
	run := 0
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for _, q := range strings.Split(block[1], ";\n") {
			if q = strings.TrimSpace(q); q == "" {
				continue
			}
			rows, err := f.DB.QueryContext(t.Context(), q)
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			for rows.Next() {
				var n int64
				if err := rows.Scan(&n); err != nil || n != 0 {
					t.Errorf("%s: %d, %v", q, n, err)
				}
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			run++
		}
		f.OrdersLive()
	}
	if run < 15 {
		t.Errorf("only %d statements are on the page", run)
	}
	f.Invariants()
}
