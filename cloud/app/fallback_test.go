package app_test

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/ledger/ledgertest"
	"vendline/cloud/order"
	"vendline/deploy/stack"
	"vendline/shared/wire"
)

// Many shoppers want the last units while Redis is killed, paused and started
// again and again: nobody is promised what there is not.
func TestNobodyOversellsWhileRedisComesAndGoes(t *testing.T) {
	if testing.Short() {
		return
	}
	const units = 400
	s := stack.Own(t, stack.Options{Redis: true, MariaDB: true})
	d, err := s.Description()
	must(t, err)
	dsn := d.Database(t)
	a, err := app.New(t.Context(), app.Config{
		HTTP: "127.0.0.1:0", Ledger: "mysql:" + dsn, Stock: "redis://" + s.Redis.Addr(), Queue: "bolt:" + filepath.Join(t.TempDir(), "q.db"), Holds: -1,
	}, app.System(slog.New(slog.DiscardHandler)))
	must(t, err)
	defer a.Close()
	must(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	must(t, a.Ledger.AddCabinet(t.Context(), "C001", map[string]int64{"cola": units}))
	var promised, n atomic.Int64
	stop := make(chan struct{})
	var shoppers sync.WaitGroup
	for range 8 {
		shoppers.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				_, _, err := a.Orders.Place(t.Context(), order.Request{ID: app.NewID(), Cabinet: "C001", User: fmt.Sprint("u", n.Add(1)), Lines: []wire.Line{{SKU: "cola", Qty: 1}}})
				var no *order.Refusal
				if err == nil {
					promised.Add(1)
				} else if errors.As(err, &no) && !no.Code.Retryable() && no.Code != wire.CodeStockShort {
					t.Error(err)
				}
			}
		})
	}
	placed := func(more int64) {
		t.Helper()
		for want, late := min(promised.Load()+more, units), time.Now().Add(time.Minute); promised.Load() < want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(late) {
				t.Fatal("nobody is served")
			}
		}
	}
	for range 2 {
		placed(20)
		must(t, s.Redis.Kill())
		placed(20)
		must(t, s.Redis.Start(t.Context()))
		placed(20)
		must(t, s.Redis.Pause())
		placed(20)
		must(t, s.Redis.Resume())
	}
	placed(units)
	close(stop)
	shoppers.Wait()
	db, err := sql.Open("mysql", dsn)
	must(t, err)
	defer db.Close()
	for late := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		wrong, err := ledgertest.Audit(t.Context(), db, map[string]ledgertest.Stock{"C001": {"cola": units}})
		must(t, err)
		live, _ := a.Stock.Sellable(t.Context(), "C001")
		if len(wrong) == 0 && live != nil && live["cola"] == 0 {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("Redis sells %v: %s", live, strings.Join(wrong, "; "))
		}
		_ = a.Fence.Rebuild(t.Context(), "C001")
	}
	var held, lost int64
	must(t, db.QueryRowContext(t.Context(), "SELECT SUM(status = 'PRE_RESERVED'), SUM(cause = 'stock short') FROM trade_order").Scan(&held, &lost))
	if held != units || lost != 0 || promised.Load() > units {
		t.Errorf("%d promised, %d held, %d lost, of %d", promised.Load(), held, lost, units)
	}
}
