package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/effect"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/deploy/stack"
	"vendline/shared/wire"
)

// busy is a service on real servers under orders, cancellations, timeouts and
// facts, half of them at one hot cabinet.
type busy struct {
	t        *testing.T
	a        *app.App
	base     string
	cabinets []string
	orders   atomic.Int64
}

func startBusy(t *testing.T) *busy {
	t.Helper()
	d := stack.Need(t)
	dir := t.TempDir()
	a, err := app.New(t.Context(), app.Config{
		HTTP: "127.0.0.1:0", Ledger: "mysql:" + d.Database(t), Stock: "redis://" + d.RedisAddr, Queue: "bolt:" + filepath.Join(dir, "q.db"),
		Hold: 2 * time.Second, Grace: 3 * time.Second, ReconcileEvery: -1,
	}, app.System(slog.New(slog.DiscardHandler)))
	check(t, err)
	t.Cleanup(a.Close)
	b := &busy{t: t, a: a}
	check(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}, order.Product{SKU: "chips", Name: "Chips", Price: 400, Currency: "CNY"}))
	suffix := strings.ReplaceAll(app.NewID(), "-", "")[20:]
	for n := range 8 {
		c := fmt.Sprintf("B%d%s", n, suffix)
		check(t, a.Ledger.AddCabinet(t.Context(), c, map[string]int64{"cola": 60, "chips": 40}))
		b.cabinets = append(b.cabinets, c)
	}
	for _, c := range b.cabinets {
		check(t, a.Fence.Rebuild(t.Context(), c))
	}
	go func() { _ = a.Serve(t.Context()) }()
	b.base = "http://" + a.HTTPAddr()
	return b
}

// work goes on until ctx ends.
func (b *busy) work(ctx context.Context, people int) (wait func()) {
	var all sync.WaitGroup
	for n := range people {
		r := rand.New(rand.NewPCG(uint64(n), 9))
		all.Go(func() {
			for ctx.Err() == nil {
				b.one(ctx, r)
			}
		})
	}
	return all.Wait
}

func (b *busy) one(ctx context.Context, r *rand.Rand) {
	c := b.cabinets[0]
	if r.IntN(2) == 0 {
		c = b.cabinets[r.IntN(len(b.cabinets))]
	}
	if r.IntN(12) == 0 {
		state := []statement.State{statement.Restock, statement.Sale}[r.IntN(2)]
		_ = b.a.Ledger.Record(ctx, ledger.Fact{ID: app.NewID(), Cabinet: c, State: state, Epoch: app.NewID(), Seq: 1, Cause: "test", Lines: []wire.Line{{SKU: "cola", Qty: 1}}})
		return
	}
	id := app.NewID()
	status, _ := b.post("/v1/orders", id, fmt.Sprintf(`{"cabinet":%q,"user":"u%s","lines":[{"sku":"cola","qty":%d},{"sku":"chips","qty":1}]}`, c, id, 1+r.IntN(2)))
	if status == http.StatusCreated {
		b.orders.Add(1)
		if r.IntN(3) > 0 {
			b.post("/v1/orders/"+id+"/cancel", "", "")
		}
	}
	time.Sleep(time.Duration(r.IntN(10)) * time.Millisecond)
}

func (b *busy) post(path, key, body string) (int, string) {
	req, err := http.NewRequest(http.MethodPost, b.base+path, bytes.NewBufferString(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(text)
}

// Under constant load a consistent system has nothing to repair, and no cabinet
// is too busy to be compared. What is wrong is found and repaired once, also while
// it is busy.
func TestReconciliationUnderLoadOnRealServers(t *testing.T) {
	if testing.Short() {
		return // needs MariaDB and Redis
	}
	b := startBusy(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	wait := b.work(ctx, 12)
	for b.orders.Load() < 50 {
		time.Sleep(10 * time.Millisecond)
	}
	all := `{"cabinets":["` + strings.Join(b.cabinets, `","`) + `"]}`
	frozen, rounds := 0, 100
	for n := range rounds {
		rep, found := reconcileOver(t, b.base, all)
		if rep.Findings > 0 || rep.Failed > 0 || rep.Equal != len(b.cabinets) {
			t.Fatalf("round %d: %+v %s", n, rep, found)
		}
		frozen += rep.Frozen
	}
	t.Logf("%d rounds of %d cabinets, %d comparisons frozen, %d orders meanwhile", rounds, len(b.cabinets), frozen, b.orders.Load())
	for _, units := range []int64{3, -3} {
		for _, c := range b.cabinets[:2] { // the hot one, and another
			res := b.a.Stock.Adjust(ctx, []effect.Adjust{{ID: app.NewID(), Cabinet: c, Deltas: []effect.Delta{{SKU: "cola", Units: units}}}})
			check(t, res[0].Err)
			one := fmt.Sprintf(`{"cabinets":[%q]}`, c)
			rep, found := reconcileOver(t, b.base, one)
			if rep.Findings != 1 || rep.Repaired != 1 || rep.Units != 3 {
				t.Errorf("%+d at %s: %+v %s", units, c, rep, found)
			}
			if again, found := reconcileOver(t, b.base, one); again.Findings != 0 || again.Equal != 1 {
				t.Errorf("%+d at %s, again: %+v %s", units, c, again, found)
			}
		}
	}
	stop()
	wait()
	if rep, found := reconcileOver(t, b.base, all); rep.Findings > 0 {
		t.Errorf("at rest: %+v %s", rep, found)
	}
}

// Two who reconcile at once repair once.
func TestTwoWhoReconcileAtOnceRepairOnce(t *testing.T) {
	if testing.Short() {
		return // needs MariaDB and Redis
	}
	b := startBusy(t)
	c := b.cabinets[0]
	if status, body := b.post("/v1/orders", app.NewID(), fmt.Sprintf(`{"cabinet":%q,"user":"u","lines":[{"sku":"cola","qty":1}]}`, c)); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	for range 10 {
		res := b.a.Stock.Adjust(t.Context(), []effect.Adjust{{ID: app.NewID(), Cabinet: c, Deltas: []effect.Delta{{SKU: "cola", Units: 3}}}})
		check(t, res[0].Err)
		var repaired atomic.Int64
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				rep, _ := reconcileOver(t, b.base, fmt.Sprintf(`{"cabinets":[%q]}`, c))
				repaired.Add(int64(rep.Repaired))
			})
		}
		all.Wait()
		if repaired.Load() != 1 {
			t.Fatalf("repaired %d times", repaired.Load())
		}
		if rep, found := reconcileOver(t, b.base, fmt.Sprintf(`{"cabinets":[%q]}`, c)); rep.Findings != 0 {
			t.Fatalf("in the end %s", found)
		}
	}
}
