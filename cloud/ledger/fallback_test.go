package ledger_test

import (
	"database/sql"
	"errors"
	"testing"

	"vendline/cloud/ledger/ledgertest"
	"vendline/cloud/order"
	"vendline/deploy/stack"
)

// The snapshot must be opened by the first read after the lock: one that is
// older does not see what committed while we waited, and sells it again. The
// same is tried with the rule left out, to prove that the test would notice.
func TestTheFallbackReadsAfterTheLock(t *testing.T) {
	if testing.Short() {
		return
	}
	for name, c := range map[string]struct {
		reads bool // before the lock
		held  int64
	}{"as it is": {false, 10}, "a snapshot from before the lock": {true, 20}} {
		t.Run(name, func(t *testing.T) {
			f := ledgertest.NewFixture(t, mariadb(stack.Need(t)))
			first, second := whole(f), whole(f)
			opened, go1, placed := make(chan struct{}), make(chan struct{}), make(chan error)
			go func() {
				once := true
				placed <- f.PlaceFallbackAfter(t.Context(), second, func(tx *sql.Tx) error {
					if c.reads {
						var n int
						if err := tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM trade_order").Scan(&n); err != nil {
							return err
						}
					}
					if once {
						once = false
						close(opened)
						<-go1
					}
					return nil
				})
			}()
			<-opened
			if err := f.PlaceFallback(t.Context(), first, nil); err != nil {
				t.Fatal(err)
			}
			close(go1)
			err := <-placed
			var no *order.Refusal
			if !c.reads && !errors.As(err, &no) {
				t.Errorf("the second: %v", err)
			}
			var held int64
			if err := f.DB.QueryRowContext(t.Context(), "SELECT SUM(l.qty) FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn WHERE o.status = 'PRE_RESERVED'").Scan(&held); err != nil {
				t.Fatal(err)
			}
			if held != c.held {
				t.Errorf("%d of 10 units are held, want %d", held, c.held)
			}
		})
	}
}

// whole is an order of all the cola there is.
func whole(f *ledgertest.Fixture) order.Order {
	return order.Order{ID: f.ID(), Cabinet: "C1", User: "ann", Status: order.PreReserved, Version: 1, Currency: "EUR", Amount: 2500,
		CreatedAt: f.Now(), ExpiresAt: f.Now(), HoldUntil: f.Now(), Lines: []order.Line{{SKU: "cola", Qty: 10, Price: 250}}}
}
