package ledgertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"vendline/cloud/ledger"
)

func schema() []promise {
	return []promise{
		{"opening a database that is up to date changes nothing", openTwice},
		{"services that start at once bring the schema up to date once", openAtOnce},
		{"a cabinet's opening stock is set once", openingOnce},
	}
}

func openTwice(t *testing.T, f *Fixture) {
	before := f.place(line("cola", 1))
	l := f.Open(nil)
	got, err := l.Find(f.ctx, before.ID)
	f.ok(err)
	if !got.SameContent(before) {
		t.Errorf("found %+v, want %+v", got, before)
	}
}

func openAtOnce(t *testing.T, f *Fixture) {
	if !f.target.Shared {
		return // its file has one owner
	}
	dsn := f.target.DSN(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			l, err := ledger.Open(f.ctx, f.target.Dialect, dsn, ledger.Options{Clock: f.Now, ID: f.ID, Token: f.ID})
			if err != nil {
				t.Errorf("service %d: %v", i, err)
				return
			}
			defer l.Close()
			if err := l.AddCabinet(f.ctx, fmt.Sprint("N", i), map[string]int64{"cola": 1}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	db, err := f.target.Raw(dsn)
	f.ok(err)
	defer db.Close()
	var n int
	f.ok(db.QueryRowContext(f.ctx, "SELECT COUNT(*) FROM trade_sku_stock").Scan(&n))
	if n != 4 {
		t.Errorf("%d stock rows, want 4", n)
	}
}

func openingOnce(t *testing.T, f *Fixture) {
	f.place(line("cola", 3))
	f.settleAll()
	f.ok(f.AddCabinet(f.ctx, cabinet, map[string]int64{"cola": 99}))
	f.wantStock("cola", 7, 3, 0)
	if got := f.gens[cabinet]; got != f.current(cabinet) {
		t.Errorf("registering again drew the generation %s anew", got)
	}
}

// current is a cabinet's generation as the tables say.
func (f *Fixture) current(c string) string {
	f.t.Helper()
	var own, fleet string
	f.ok(f.DB.QueryRowContext(f.ctx, "SELECT generation FROM trade_cabinet WHERE cabinet_id = ?", c).Scan(&own))
	f.ok(f.DB.QueryRowContext(f.ctx, "SELECT generation FROM trade_cabinet WHERE cabinet_id = '*'").Scan(&fleet))
	return own + "." + fleet
}

// deadline bounds a step that must not hang.
func (f *Fixture) deadline() context.Context {
	ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
	f.t.Cleanup(cancel)
	return ctx
}
