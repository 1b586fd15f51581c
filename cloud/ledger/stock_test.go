package ledger

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vendline/cloud/statement"
)

// The rows are locked before they are read, so this cannot happen; were it to,
// the affected rows must tell, and the batch be undone.
func TestAStockRowThatIsNotAsItWasReadStopsTheBatch(t *testing.T) {
	ctx := t.Context()
	l, err := Open(ctx, SQLite(), filepath.Join(t.TempDir(), "l.db"), Options{Clock: time.Now, ID: func() string { return "" }, Token: func() string { return "a" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	if err := l.AddCabinet(ctx, "C1", map[string]int64{"chips": 5, "cola": 5}); err != nil {
		t.Fatal(err)
	}
	err = l.once(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		stock, err := l.lockStock(ctx, tx, []statement.Statement{{Cabinet: "C1", Lines: wireLines(nil)}})
		if err != nil || len(stock) != 0 {
			t.Fatalf("%v, %v", stock, err)
		}
		rows := map[stockKey]*stockRow{}
		for id := range int64(2) {
			r := &stockRow{id: id + 1, available: 9, was: statement.Effect{Available: 9}}
			if id == 0 && !r.fits(statement.Effect{Available: -7, Locked: 7}) || id == 1 && !r.fits(statement.Effect{Available: -2, Locked: 2}) {
				t.Fatal("nine units do not take two or seven")
			}
			rows[stockKey{"C1", string(rune('a' + id))}] = r
		}
		return l.updateStock(ctx, tx, rows)
	})
	if err == nil || !strings.Contains(err.Error(), "1 of 2 rows") {
		t.Errorf("got %v", err)
	}
	rows, err := l.Stock(ctx, "C1")
	if err != nil || rows[0].Available != 5 || rows[1].Available != 5 {
		t.Errorf("%+v, %v: the batch was not undone", rows, err)
	}
}
