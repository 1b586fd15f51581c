package catalogue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vendline/cloud/catalogue"
	"vendline/cloud/order"
	"vendline/cloud/planogram"
	"vendline/shared/wire"
)

func (s *shop) Planograms(_ context.Context, cabinets ...string) (map[string]planogram.State, error) {
	s.looks.Add(1)
	s.mu.Lock()
	out := map[string]planogram.State{}
	for _, c := range cabinets {
		if n := len(s.plans[c]); n > 0 {
			out[c] = planogram.State{Cabinet: c, Planogram: s.plans[c][n-1]}
		}
	}
	away, during := s.away, s.during
	s.mu.Unlock()
	if during != nil {
		during()
	}
	return out, away
}

func (s *shop) PlanogramAt(_ context.Context, cabinet string, version int64) (wire.Planogram, bool, error) {
	s.looks.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if version > int64(len(s.plans[cabinet])) {
		return wire.Planogram{}, false, s.away
	}
	return s.plans[cabinet][version-1], true, s.away
}

func (s *shop) PlanogramChanges(_ context.Context, after int64) (map[string]int64, int64, error) {
	s.news.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int64{}
	if after >= 0 {
		for _, c := range s.sets[after:] {
			out[c] = int64(len(s.plans[c]))
		}
	}
	return out, int64(len(s.sets)), s.away
}

func (s *shop) SlotFaults(context.Context) ([]order.SlotFault, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults), s.away
}

// plan sets a cabinet's next planogram.
func (s *shop) plan(cabinet string, slots ...wire.Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plans == nil {
		s.plans = map[string][]wire.Planogram{}
	}
	s.plans[cabinet] = append(s.plans[cabinet], wire.Planogram{Version: int64(len(s.plans[cabinet]) + 1), Slots: slots})
	s.sets = append(s.sets, cabinet)
}

func (s *shop) fault(faults ...order.SlotFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
}

func slot(name, sku string, price int64) wire.Slot {
	return wire.Slot{Slot: name, SKU: sku, Capacity: 9, Price: price, Currency: "EUR"}
}

// running is a catalogue that looks for news, in a bubble of synctest.
func running(t *testing.T, s *shop, opt catalogue.Options) *catalogue.Catalogue {
	t.Helper()
	c := catalogue.New(s, opt)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		c.Close()
	})
	return c
}

func offer(t *testing.T, c *catalogue.Catalogue, cabinet, sku string) (order.Offer, bool) {
	t.Helper()
	o, ok, err := c.Product(t.Context(), cabinet, sku)
	if err != nil {
		t.Fatal(err)
	}
	return o, ok
}

func TestACabinetSellsWhatIsInItsPlanogramAtThePriceThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola, water, tea}}
		s.plan("C1", slot("A1", "cola", 300), slot("A2", "cola", 300), slot("B1", "tea", 10))
		c := running(t, s, catalogue.Options{})
		o, ok := offer(t, c, "C1", "cola")
		if !ok || o.Price != 300 || o.PricedAt != 1 || o.UserLimit != 3 || o.Name != "Cola" || !slices.Equal(o.Slots, []string{"A1", "A2"}) || o.Suspended {
			t.Errorf("%+v, %v", o, ok)
		}
		if o, ok := offer(t, c, "C1", "water"); ok {
			t.Errorf("it is in no slot: %+v", o)
		}
		if o, ok := offer(t, c, "C2", "cola"); !ok || o.Price != 250 || o.PricedAt != 0 || o.Slots != nil {
			t.Errorf("a cabinet without a planogram: %+v, %v", o, ok)
		}
	})
}

func TestANewVersionIsInForceWithinASecondAlsoWhereNobodyAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola, tea}}
		c := running(t, s, catalogue.Options{})
		offer(t, c, "C1", "cola")
		time.Sleep(10 * time.Minute)
		s.plan("C1", slot("A1", "cola", 300))
		time.Sleep(1100 * time.Millisecond)
		looks := s.looks.Load()
		if o, _ := offer(t, c, "C1", "cola"); o.Price != 300 || o.PricedAt != 1 {
			t.Errorf("%+v", o)
		}
		if s.looks.Load() != looks {
			t.Error("the caller waited for it")
		}
		if o, ok := offer(t, c, "C1", "tea"); ok {
			t.Errorf("%+v is still sold", o)
		}
	})
}

func TestAVersionThatComesWhileItsCabinetIsReadIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola}}
		s.plan("C1", slot("A1", "cola", 300))
		c := running(t, s, catalogue.Options{})
		offer(t, c, "C2", "cola")
		var once sync.Once
		s.during = func() {
			once.Do(func() {
				s.plan("C1", slot("A1", "cola", 400))
				time.Sleep(3 * time.Second) // the news are heard meanwhile
			})
		}
		offer(t, c, "C1", "cola")
		time.Sleep(2 * time.Second)
		if o, _ := offer(t, c, "C1", "cola"); o.Price != 400 || o.PricedAt != 2 {
			t.Errorf("%+v", o)
		}
	})
}

func TestManyWhoAskForACabinetReadItOnceAndOthersOnlyWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola}}
		for i := range 50 {
			s.plan(fmt.Sprint("C", i), slot("A1", "cola", 300))
		}
		c := running(t, s, catalogue.Options{})
		offer(t, c, "C9", "cola")
		s.looks.Store(0)
		s.mu.Lock()
		s.during = func() { time.Sleep(100 * time.Millisecond) }
		s.mu.Unlock()
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() { offer(t, c, "C1", "cola") })
		}
		wg.Wait()
		if n := s.looks.Load(); n != 1 {
			t.Errorf("%d reads", n)
		}
	})
}

func TestKeptPlanogramsAreBoundedAndServeOnWhileTheSourceIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola}}
		s.plan("C1", slot("A1", "cola", 300))
		c := running(t, s, catalogue.Options{Cabinets: 3})
		for i := range 20 {
			offer(t, c, fmt.Sprint("X", i), "cola")
		}
		offer(t, c, "C1", "cola")
		s.looks.Store(0)
		for i := range 20 {
			offer(t, c, fmt.Sprint("X", i), "cola")
		}
		if n := s.looks.Load(); n < 17 {
			t.Errorf("only %d of 20 had to be read again: more than 3 are kept", n)
		}
		offer(t, c, "C1", "cola")
		gone := errors.New("gone")
		s.set(gone, cola)
		time.Sleep(time.Hour)
		if o, ok := offer(t, c, "C1", "cola"); !ok || o.Price != 300 {
			t.Errorf("%+v, %v", o, ok)
		}
		if _, ok, err := c.Product(t.Context(), "C7", "cola"); ok || !errors.Is(err, gone) {
			t.Errorf("a cabinet that nobody can look into: %v, %v", ok, err)
		}
		s.set(nil, cola)
		s.plan("C1", slot("A1", "cola", 350))
		time.Sleep(2 * time.Second)
		if o, _ := offer(t, c, "C1", "cola"); o.Price != 350 {
			t.Errorf("after it came back: %+v", o)
		}
	})
}

func TestAProductIsSuspendedWhenAllItsSlotsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola, tea}}
		s.plan("C1", slot("A1", "cola", 300), slot("A2", "cola", 300), slot("B1", "tea", 200))
		c := running(t, s, catalogue.Options{})
		at := func(cabinet, slot, sku string) order.SlotFault {
			return order.SlotFault{Cabinet: cabinet, Slot: slot, SKU: sku, Fault: "jam"}
		}
		for name, w := range map[string]struct {
			faults  []order.SlotFault
			cabinet string
			want    bool // cola is suspended
		}{
			"nothing":                                {nil, "C1", false},
			"one of two slots":                       {[]order.SlotFault{at("C1", "A1", "cola")}, "C1", false},
			"both":                                   {[]order.SlotFault{at("C1", "A1", "cola"), at("C1", "A2", "cola")}, "C1", true},
			"both, one since it held something else": {[]order.SlotFault{at("C1", "A1", "cola"), at("C1", "A2", "tea")}, "C1", true},
			"a slot that it is not in any more":      {[]order.SlotFault{at("C1", "Z9", "cola")}, "C1", false},
			"the product itself":                     {[]order.SlotFault{at("C1", "cola", "cola")}, "C1", true},
			"at another cabinet":                     {[]order.SlotFault{at("C3", "A1", "cola"), at("C3", "A2", "cola")}, "C1", false},
			"no planogram":                           {[]order.SlotFault{at("C2", "cola", "cola")}, "C2", true},
		} {
			s.fault(w.faults...)
			time.Sleep(1100 * time.Millisecond)
			if o, ok := offer(t, c, w.cabinet, "cola"); !ok || o.Suspended != w.want {
				t.Errorf("%s: suspended %v (%v), want %v", name, o.Suspended, ok, w.want)
			}
		}
	})
}

func TestPricesOfOlderVersionsAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola, tea}}
		for price := int64(100); price <= 900; price += 100 {
			s.plan("C1", slot("A1", "cola", price))
		}
		c := running(t, s, catalogue.Options{})
		for _, w := range []struct {
			version, price int64
			ok             bool
		}{{9, 900, true}, {1, 100, true}, {5, 500, true}, {0, 0, false}, {-1, 0, false}, {12, 0, false}} {
			p, ok, err := c.PriceAt(t.Context(), "C1", w.version, "cola")
			if err != nil || ok != w.ok || ok && p != (wire.Price{SKU: "cola", Price: w.price, Currency: "EUR"}) {
				t.Errorf("version %d: %+v, %v, %v", w.version, p, ok, err)
			}
		}
		if _, ok, err := c.PriceAt(t.Context(), "C1", 1, "tea"); ok || err != nil {
			t.Errorf("what was in no slot: %v, %v", ok, err)
		}
		if _, ok, err := c.PriceAt(t.Context(), "C2", 1, "cola"); ok || err != nil {
			t.Errorf("a cabinet without a planogram: %v, %v", ok, err)
		}
		s.looks.Store(0)
		for range 50 {
			_, _, _ = c.PriceAt(t.Context(), "C1", 5, "cola")
		}
		if n := s.looks.Load(); n != 0 {
			t.Errorf("an older version was read %d times more", n)
		}
	})
}

// A cabinet may show a version that this process has not heard of: it is told by
// another one.
func TestAVersionThatTheShopperSawFirstIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{items: []order.Product{cola}}
		s.plan("C1", slot("A1", "cola", 300))
		c := catalogue.New(s, catalogue.Options{})
		t.Cleanup(c.Close)
		offer(t, c, "C1", "cola")
		time.Sleep(2 * time.Second)
		s.plan("C1", slot("A1", "cola", 400))
		if p, ok, err := c.PriceAt(t.Context(), "C1", 2, "cola"); !ok || err != nil || p.Price != 400 {
			t.Errorf("%+v, %v, %v", p, ok, err)
		}
		if o, _ := offer(t, c, "C1", "cola"); o.PricedAt != 2 || o.Price != 400 {
			t.Errorf("what is in force is older than what was seen: %+v", o)
		}
	})
}

func TestAPlanogramsProductCostsNoAllocation(t *testing.T) {
	s := &shop{items: []order.Product{cola}}
	s.plan("C1", slot("A1", "cola", 300))
	s.fault(order.SlotFault{Cabinet: "C1", Slot: "B1", SKU: "tea"})
	c := catalogue.New(s, catalogue.Options{})
	t.Cleanup(c.Close)
	offer(t, c, "C1", "cola")
	ctx := t.Context()
	if n := testing.AllocsPerRun(200, func() { _, _, _ = c.Product(ctx, "C1", "cola") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
