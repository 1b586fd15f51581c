package drill

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"vendline/cloud/app"
	"vendline/cloud/ledger"
	"vendline/deploy/launch"
	"vendline/deploy/stack"
	"vendline/shared/wire"
)

// The embedded form keeps ledger and queue in files of its own: with their disk
// full it refuses, retryably, and what it had accepted survives a kill.
func embeddedDiskFull(t *testing.T) {
	bin, err := Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := stack.Own(t, stack.Options{Volumes: map[string]int64{"cloud": 24 << 20}})
	dir := filepath.Join(s.Dir, "cloud")
	plan := NewPlan(1)
	if err := seedSQLite(t.Context(), filepath.Join(dir, "ledger.db"), plan); err != nil {
		t.Fatal(err)
	}
	addr, err := launch.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := s.Add(t.Context(), stack.Process{
		Name: "vend-cloud", Program: bin.Cloud, Addr: addr,
		Args: []string{"--http", addr, "--ledger", "sqlite:" + filepath.Join(dir, "ledger.db"), "--stock", "embedded",
			"--queue", "bolt:" + filepath.Join(dir, "queue.db"), "--holds=-1"},
		Ready: func(ctx context.Context) error { return launch.Answers(ctx, "http://"+addr+"/readyz") },
	})
	if err != nil {
		t.Fatal(err)
	}
	shop := &embeddedShop{call: newCaller(), url: "http://" + addr + "/v1/orders", cabinet: plan.Cabinets[0], open: map[string]bool{}}
	defer shop.call.close()
	shop.order(t, 50)
	b, err := startBallast(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); len(shop.open) == 0 && time.Since(began) < 30*time.Second; {
		shop.order(t, 20)
	}
	if err := b.free(); err != nil {
		t.Fatal(err)
	}
	if len(shop.open) == 0 {
		t.Fatal("the disk was full for half a minute and vend-cloud accepted everything")
	}
	t.Logf("%d orders were accepted, %d refused while the disk was full", len(shop.accepted), len(shop.open))
	shop.again(t)
	if err := powerCut(t.Context(), cloud, 0, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, id := range shop.accepted {
		var o struct{ Order struct{ ID string } }
		if err := shop.call.get(t.Context(), shop.url+"/"+id, &o); err != nil || o.Order.ID != id {
			t.Errorf("order %s was accepted and is lost: %v", id, err)
		}
	}
}

func seedSQLite(ctx context.Context, path string, plan Plan) error {
	l, err := ledger.Open(ctx, ledger.SQLite(), path, ledger.Options{Clock: time.Now, ID: app.NewID, Token: app.NewToken})
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.AddProducts(ctx, plan.Products...); err != nil {
		return err
	}
	return l.AddCabinet(ctx, plan.Cabinets[0], plan.Opening())
}

type embeddedShop struct {
	call         *caller
	url, cabinet string
	accepted     []string
	open         map[string]bool // refused for the moment
}

func (s *embeddedShop) try(t *testing.T, key string) {
	w := wish{cabinet: s.cabinet, user: "u" + key, lines: []wire.Line{{SKU: ProbeSKU, Qty: 1}}}
	switch a := s.call.post(t.Context(), s.url, key, phoneBody(w)); a.outcome {
	case Yes:
		delete(s.open, key)
		s.accepted = append(s.accepted, key)
	case No:
		t.Errorf("order %s is refused for good: %s", key, a.body)
	default:
		s.open[key] = true
	}
}

func (s *embeddedShop) order(t *testing.T, n int) {
	for range n {
		s.try(t, app.NewID())
	}
}

// again asks once more for everything that was refused, until it is accepted.
func (s *embeddedShop) again(t *testing.T) {
	for began := time.Now(); len(s.open) > 0; time.Sleep(100 * time.Millisecond) {
		for key := range s.open {
			s.try(t, key)
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("there is room again, and %d orders are still refused", len(s.open))
		}
	}
}
