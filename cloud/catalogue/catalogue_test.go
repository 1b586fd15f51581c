package catalogue_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"vendline/cloud/catalogue"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// shop is a source whose shelf and health a test sets.
type shop struct {
	mu    sync.Mutex
	items []order.Product
	away  error
	slow  time.Duration
	reads atomic.Int64
	now   atomic.Int64
	most  atomic.Int64

	plans  map[string][]wire.Planogram // by cabinet, versions 1, 2, 3 …
	sets   []string                    // cabinets, by number of the change
	faults []order.SlotFault
	looks  atomic.Int64 // reads of planograms
	news   atomic.Int64 // looks for changes
	during func()       // runs in a read of planograms, after it has read
}

func (s *shop) Products(ctx context.Context) ([]order.Product, error) {
	s.reads.Add(1)
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	s.mu.Lock()
	items, away, slow := append([]order.Product(nil), s.items...), s.away, s.slow
	s.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return items, away
}

func (s *shop) set(away error, items ...order.Product) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.items = away, items
}

var (
	cola  = order.Product{SKU: "cola", Name: "Cola", Price: 250, Currency: "EUR", UserLimit: 3}
	water = order.Product{SKU: "water", Name: "Water", Price: 100, Currency: "EUR"}
	tea   = order.Product{SKU: "tea", Name: "Tea", Price: 180, Currency: "EUR"}
)

func ask(t *testing.T, c *catalogue.Catalogue, sku string) (order.Product, bool) {
	t.Helper()
	o, ok, err := c.Product(t.Context(), "C1", sku)
	if err != nil {
		t.Fatal(err)
	}
	return o.Product, ok
}

func TestAListedProductComesFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola, water}}
		c := catalogue.New(s, catalogue.Options{})
		for range 100 {
			if p, ok := ask(t, c, "cola"); !ok || p != cola {
				t.Fatalf("got %+v, %v", p, ok)
			}
		}
		if n := s.reads.Load(); n != 1 {
			t.Fatalf("100 questions read the source %d times", n)
		}
	})
}

func TestAnOldCopyIsRefreshedBehindTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola}}
		c := catalogue.New(s, catalogue.Options{MaxAge: 5 * time.Second})
		ask(t, c, "cola")
		dearer := cola
		dearer.Price = 300
		s.set(nil, dearer)
		time.Sleep(6 * time.Second)
		if p, _ := ask(t, c, "cola"); p.Price != 250 {
			t.Fatalf("the caller waited for the refresh: price %d", p.Price)
		}
		synctest.Wait()
		if p, _ := ask(t, c, "cola"); p.Price != 300 {
			t.Fatalf("price %d after the refresh", p.Price)
		}
	})
}

func TestAMissAsksTheSourceAtMostOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola}}
		c := catalogue.New(s, catalogue.Options{})
		ask(t, c, "cola")
		time.Sleep(2 * time.Second)
		for range 50 {
			if _, ok := ask(t, c, "tea"); ok {
				t.Fatal("an unlisted SKU was found")
			}
		}
		if n := s.reads.Load(); n != 2 {
			t.Fatalf("50 misses in one instant: %d reads in all, want 2", n)
		}
		s.set(nil, cola, tea)
		time.Sleep(time.Second)
		if p, ok := ask(t, c, "tea"); !ok || p != tea {
			t.Fatal("a SKU that was listed meanwhile is unknown")
		}
	})
}

func TestManyMissesShareOneRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola, tea}, slow: 300 * time.Millisecond}
		c := catalogue.New(s, catalogue.Options{})
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				if _, ok, err := c.Product(t.Context(), "C1", "tea"); !ok || err != nil {
					t.Errorf("ok %v, error %v", ok, err)
				}
			})
		}
		wg.Wait()
		if n, most := s.reads.Load(), s.most.Load(); n != 1 || most != 1 {
			t.Fatalf("%d reads, %d at once", n, most)
		}
	})
}

func TestTheLastGoodCopyServesWhileTheSourceIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola}}
		c := catalogue.New(s, catalogue.Options{})
		ask(t, c, "cola")
		gone := errors.New("gone")
		s.set(gone)
		for range 10 {
			time.Sleep(time.Minute)
			if p, ok := ask(t, c, "cola"); !ok || p != cola {
				t.Fatal("a listed SKU was lost with the source")
			}
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		if _, ok, err := c.Product(t.Context(), "C1", "tea"); ok || !errors.Is(err, gone) {
			t.Fatalf("a SKU nobody can look up: ok %v, error %v; unknown would be a guess", ok, err)
		}
		s.set(nil, cola, tea)
		time.Sleep(time.Second)
		if _, ok := ask(t, c, "tea"); !ok {
			t.Fatal("not refreshed once the source is back")
		}
	})
}

func TestTheFirstQuestionFailsWhileTheSourceIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		s := &shop{away: gone}
		c := catalogue.New(s, catalogue.Options{})
		for range 20 {
			if _, _, err := c.Product(t.Context(), "C1", "cola"); !errors.Is(err, gone) {
				t.Fatalf("error %v", err)
			}
		}
		if n := s.reads.Load(); n != 1 {
			t.Fatalf("a source that is away was asked %d times at once", n)
		}
	})
}

func TestACallerMayGiveUpAndCloseEndsARefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{slow: time.Hour}
		c := catalogue.New(s, catalogue.Options{Timeout: 2 * time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := c.Product(ctx, "C1", "cola"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v", err)
		}
		c.Close() // the bubble fails if the refresh outlives this test
		if _, _, err := c.Product(t.Context(), "C1", "cola"); err == nil {
			t.Fatal("a closed, empty catalogue knows nothing and must say so")
		}
	})
}

func TestAListedProductCostsNoAllocation(t *testing.T) {
	s := &shop{items: []order.Product{cola}}
	c := catalogue.New(s, catalogue.Options{})
	t.Cleanup(c.Close)
	ask(t, c, "cola")
	ctx := t.Context()
	if n := testing.AllocsPerRun(200, func() { _, _, _ = c.Product(ctx, "C1", "cola") }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkProduct(b *testing.B) {
	s := &shop{items: []order.Product{cola, water, tea}}
	c := catalogue.New(s, catalogue.Options{})
	b.Cleanup(c.Close)
	ctx := b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, _, err := c.Product(ctx, "C1", "cola"); err != nil {
				b.Fail()
			}
		}
	})
}

func TestWhatIsListedRightAfterABackgroundReadIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{}
		c := catalogue.New(s, catalogue.Options{})
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.Run(ctx); close(done) }()
		synctest.Wait() // it has read an empty shelf
		s.set(nil, cola)
		if _, ok := ask(t, c, "cola"); !ok {
			t.Error("a product that is listed is unknown, for a read that nobody asked for")
		}
		end()
		<-done
		c.Close()
	})
}
