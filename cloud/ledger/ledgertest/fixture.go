package ledgertest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// cabinet is the one most promises are checked on.
const cabinet = "C1"

// Fixture is a ledger over a fresh database, with a clock, ids and tokens of
// the test's own. Cabinet C1 opens with ten cola and ten chips.
type Fixture struct {
	*ledger.Ledger
	DB *sql.DB // the same database, without the ledger

	t       *testing.T
	ctx     context.Context
	target  Target
	dsn     string
	now     atomic.Int64 // Unix ms
	serial  atomic.Int64
	ticket  atomic.Int64
	gens    map[string]string           // cabinet → generation last loaded
	opening map[string]map[string]int64 // cabinet → SKU → units

	mu      sync.Mutex
	fed     []outbox.Row
	changed []order.Order
}

// NewFixture opens a ledger on a fresh database.
func NewFixture(t *testing.T, target Target) *Fixture {
	t.Helper()
	f := &Fixture{t: t, ctx: t.Context(), target: target, dsn: target.DSN(t), gens: map[string]string{}, opening: map[string]map[string]int64{}}
	f.now.Store(1_800_000_000_000)
	f.Ledger = f.Open(nil)
	db, err := target.Raw(f.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f.DB = db
	f.ok(f.AddProducts(f.ctx, product("cola", 250), product("chips", 300), product("gum", 100)))
	f.AddStock(cabinet, map[string]int64{"cola": 10, "chips": 10})
	return f
}

func product(sku string, price int64) order.Product {
	return order.Product{SKU: sku, Name: sku, Price: price, Currency: "EUR"}
}

// Open opens one more ledger over the same database: another service.
func (f *Fixture) Open(change func(*ledger.Options)) *ledger.Ledger {
	f.t.Helper()
	l, err := f.TryOpen(change)
	f.ok(err)
	return l
}

// TryOpen is Open with its error.
func (f *Fixture) TryOpen(change func(*ledger.Options)) (*ledger.Ledger, error) {
	opt := ledger.Options{
		Clock: f.Now, ID: f.ID, Token: func() string { return fmt.Sprintf("%012x", f.serial.Add(1)) },
		Feed: func(rows []outbox.Row) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.fed = append(f.fed, rows...)
		},
		Changed: func(os []order.Order) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.changed = append(f.changed, os...)
		},
	}
	if change != nil {
		change(&opt)
	}
	l, err := ledger.Open(f.ctx, f.target.Dialect, f.dsn, opt)
	if err == nil {
		f.t.Cleanup(l.Close)
	}
	return l, err
}

// Now is the clock of every ledger of the fixture; it moves when told to.
func (f *Fixture) Now() time.Time { return time.UnixMilli(f.now.Load()).UTC() }

// Pass moves the clock.
func (f *Fixture) Pass(d time.Duration) { f.now.Add(d.Milliseconds()) }

// ID mints a UUIDv7; later ones sort later.
func (f *Fixture) ID() string {
	at, n := f.now.Load(), f.serial.Add(1)
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", at>>16, at&0xffff, n)
}

// AddStock registers a cabinet with its opening stock and loads it.
func (f *Fixture) AddStock(c string, opening map[string]int64) {
	f.t.Helper()
	f.ok(f.AddCabinet(f.ctx, c, opening))
	f.opening[c] = opening
	f.load(c)
}

// Fed are the rows that ledgers handed over from memory so far, sorted by id.
func (f *Fixture) Fed() []outbox.Row {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(slices.Values(f.fed), func(a, b outbox.Row) int {
		return slices.Compare([]byte(a.ID), []byte(b.ID))
	})
}

// Changed are the order states that ledgers announced so far.
func (f *Fixture) Changed() []order.Order {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.changed)
}

func (f *Fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// count runs a query that answers one number.
func (f *Fixture) count(query string, args ...any) int64 {
	f.t.Helper()
	var n sql.NullInt64
	f.ok(f.DB.QueryRowContext(f.ctx, query, args...).Scan(&n))
	return n.Int64
}

// exec changes the tables behind the ledger's back.
func (f *Fixture) exec(query string, args ...any) {
	f.t.Helper()
	_, err := f.DB.ExecContext(f.ctx, query, args...)
	f.ok(err)
}
