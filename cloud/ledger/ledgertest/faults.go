package ledgertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// faults are promises about a server that other clients and an operator use too.
func faults() []promise {
	return []promise{
		{"a deadlock's victim runs again, once in effect", deadlock},
		{"a lock wait that takes too long runs again, once in effect", lockWait},
		{"connections cut at the worst of moments cost time, and nothing twice", cut},
		{"statements fit the server's parameter limit without the client's help", parameters},
		{"a cabinet's rebuild holds up nobody else", rebuildAlone},
		{"placing, moving, applying and claiming at once keep the sums exact", crowd},
	}
}

// holdRow locks a stock row on a connection of its own, in a transaction that
// weighs more than any of the ledger's, so that a deadlock never costs it.
func (f *Fixture) holdRow(id int64) *sql.Tx {
	f.t.Helper()
	f.exec("CREATE TABLE IF NOT EXISTS ballast (n INT)")
	tx, err := f.DB.BeginTx(f.ctx, nil)
	f.ok(err)
	f.t.Cleanup(func() { _ = tx.Rollback() })
	_, err = tx.ExecContext(f.ctx, "INSERT INTO ballast VALUES (1)"+strings.Repeat(",(1)", 500))
	f.ok(err)
	f.lockRow(tx, id)
	return tx
}

func (f *Fixture) lockRow(tx *sql.Tx, id int64) {
	f.t.Helper()
	var n int64
	f.ok(tx.QueryRowContext(f.ctx, "SELECT id FROM trade_sku_stock WHERE id = ? FOR UPDATE", id).Scan(&n))
}

// until asks the server again and again, until it says yes.
func (f *Fixture) until(ctx context.Context, yes func() bool) {
	f.t.Helper()
	for !yes() {
		if ctx.Err() != nil {
			f.t.Fatal("it never came to that")
		}
	}
}

func deadlock(t *testing.T, f *Fixture) {
	f.place(line("chips", 1), line("cola", 2))
	low := f.count("SELECT MIN(id) FROM trade_sku_stock")
	high := f.count("SELECT MAX(id) FROM trade_sku_stock")
	other := f.holdRow(high)
	applied := make(chan error, 1)
	go func() { applied <- second(f.Apply(f.ctx, f.messages())) }() // locks low, waits for high
	f.until(f.deadline(), func() bool {
		return f.count("SELECT MAX(id) FROM (SELECT id FROM trade_sku_stock WHERE id = ? FOR UPDATE SKIP LOCKED) x", low) == 0
	})
	f.lockRow(other, low)
	f.ok(other.Commit())
	f.ok(<-applied)
	if n := f.Counters().Conflicts.Load(); n == 0 {
		t.Error("nobody was a deadlock's victim")
	}
	f.wantStock("cola", 8, 2, 0)
	f.wantStock("chips", 9, 1, 0)
}

func lockWait(t *testing.T, f *Fixture) {
	f.dsn += "&innodb_lock_wait_timeout=1"
	l := f.Open(nil)
	f.place(line("cola", 2))
	msgs := f.messages()
	other := f.holdRow(f.count("SELECT id FROM trade_sku_stock WHERE sku_id = 'cola'"))
	applied := make(chan error, 1)
	go func() { applied <- second(l.Apply(f.ctx, msgs)) }()
	f.until(f.deadline(), func() bool { return l.Counters().Conflicts.Load() > 0 })
	f.ok(other.Rollback())
	f.ok(<-applied)
	f.wantStock("cola", 8, 2, 0)
	if l.Counters().DeadLetters.Load() != 0 || f.count("SELECT COUNT(*) FROM local_msg WHERE kind = 'stock'") != 0 {
		t.Error("waiting for a lock was held against the statement")
	}
}

func cut(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 1000})
	c, dsn := f.cutting()
	plain, direct := f.Ledger, f.dsn
	defer func() { f.Ledger, f.dsn = plain, direct }() // what is audited in the end takes many statements
	f.dsn = dsn
	f.Ledger = f.Open(nil)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for i := range 25 {
				f.surely(f.orderAt("C2", line("cola", 1)), i%3)
			}
		})
	}
	wg.Wait()
	if c.lost.Load() == 0 || c.unheard.Load() == 0 {
		t.Errorf("%d statements never arrived, %d commits were not heard of", c.lost.Load(), c.unheard.Load())
	}
	f.settleAll()
	rows, err := f.Stock(f.ctx, "C2")
	f.ok(err)
	if r := rows[0]; r.Locked != 54 || r.Sold != 48 || r.Available != 1000-102 {
		t.Errorf("%+v, want 54 locked and 48 sold", r)
	}
}

// surely places an order and ends it by fate, as a caller would who asks again
// until it knows.
func (f *Fixture) surely(o order.Order, fate int) {
	p := f.placement(o)
	for {
		if err := f.Place(f.ctx, p); err == nil || errors.Is(err, order.ErrExists) {
			break
		}
	}
	if fate == 0 {
		return
	}
	event := [...]order.Event{1: order.Timeout, 2: order.PaySuccess}[fate]
	for {
		err := f.Transition(f.ctx, &order.Change{ID: o.ID, Event: event})
		var refused *order.StateError
		if err == nil || errors.As(err, &refused) && refused.Order.Version == 2 {
			break
		}
	}
	for {
		msgs, err := f.Claim(f.ctx, "stock", 1, once)
		if err == nil && len(msgs) == 0 {
			return
		}
		if err == nil {
			if m, err := statement.Decode(msgs[0].Payload); err == nil {
				_ = second(f.Apply(f.ctx, []statement.Message{m}))
			}
		}
	}
}

func parameters(t *testing.T, f *Fixture) {
	f.dsn = strings.Replace(f.dsn, "interpolateParams=true", "interpolateParams=false", 1)
	f.Ledger = f.Open(func(o *ledger.Options) { o.Workers = 1 })
	groupLargest(t, f)
	manyRows(t, f)
	wide := statement.Message{}
	for c := range 100 {
		name, opening := fmt.Sprint("W", c), map[string]int64{}
		var lines []wire.Line
		for s := range 50 {
			opening[fmt.Sprint("sku", s)] = 5
			lines = append(lines, wire.Line{SKU: fmt.Sprint("sku", s), Qty: 1})
		}
		f.ok(f.AddCabinet(f.ctx, name, opening))
		wide.Statements = append(wide.Statements, statement.Statement{ID: f.ID(), Cabinet: name, State: statement.PreReserved, Version: 1, Lines: lines})
	}
	before := f.Counters().StockCommits.Load()
	if a := f.apply(wide); len(a.Known) != 100 {
		t.Errorf("%d of 100 baskets of 50 are known", len(a.Known))
	}
	if n := f.Counters().StockCommits.Load() - before; n != 1 {
		t.Errorf("one message took %d transactions", n)
	}
	f.exec("DELETE FROM trade_stock_deduct_log WHERE cabinet_id LIKE 'W%'") // nobody ordered these
	f.exec("DELETE FROM trade_sku_stock WHERE cabinet_id LIKE 'W%'")
}

// crowd is what many services do to one database at once.
func crowd(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 10000, "chips": 10000})
	other := f.Open(nil)
	stop := make(chan struct{})
	var carrying, selling sync.WaitGroup
	for _, l := range []*ledger.Ledger{f.Ledger, other} {
		carrying.Go(func() {
			for {
				rows, err := l.Claim(f.ctx, "stock", 20, once)
				if err != nil {
					t.Error(err)
					return
				}
				var msgs []statement.Message
				for _, r := range rows {
					m, err := statement.Decode(r.Payload)
					if err != nil {
						t.Error(err)
					}
					msgs = append(msgs, m)
				}
				if len(msgs) > 0 {
					if err := second(l.Apply(f.ctx, msgs)); err != nil {
						t.Error(err)
					}
				}
				select {
				case <-stop:
					if len(rows) == 0 {
						return
					}
				default:
				}
				f.Pass(1000 * 1000 * 1000)
			}
		})
	}
	for i := range 12 {
		selling.Go(func() {
			l := []*ledger.Ledger{f.Ledger, other}[i%2]
			for n := range 30 {
				o := f.orderAt("C2", line("chips", 1), line("cola", 1+n%2))
				if err := l.Place(f.ctx, f.placement(o)); err != nil {
					t.Error(err)
					return
				}
				event := []order.Event{order.Timeout, order.PaySuccess}[n%2]
				if err := l.Transition(f.ctx, &order.Change{ID: o.ID, Event: event}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	selling.Wait()
	close(stop)
	carrying.Wait()
	f.settleAll()
	rows, err := f.Stock(f.ctx, "C2")
	f.ok(err)
	if rows[1].Sold != 360 || rows[1].Available != 10000-360 || rows[0].Sold != 180 {
		t.Errorf("%+v", rows)
	}
}
