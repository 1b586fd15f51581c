package order_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// charges are orders with an open charge; ended records which were closed.
type charges struct {
	mu    sync.Mutex
	open  map[string]bool
	asked int
	ended []string
	end   func(id string) error
}

func (c *charges) Charged(_ context.Context, ids []string) (out []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	for _, id := range ids {
		if c.open[id] {
			out = append(out, id)
		}
	}
	return out, nil
}

func (c *charges) EndCharges(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil {
		if err := c.end(id); err != nil {
			return err
		}
	}
	c.ended = append(c.ended, id)
	return nil
}

// holds are n orders that wait for their money.
func holds(t *testing.T, s *order.Service, n int) (ids []string) {
	t.Helper()
	for i := range n {
		id := fmt.Sprintf("01a3185c-5078-7000-8000-%012x", 100+i)
		if _, _, err := s.Place(t.Context(), order.Request{ID: id, Cabinet: "C1", User: fmt.Sprint("u", i), Lines: []wire.Line{{SKU: "cola", Qty: 1}}}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestOnlyHoldsWithAnOpenChargeWaitForTheirProvider(t *testing.T) {
	f := newFakes()
	s := f.service()
	ids := holds(t, s, 10)
	c := &charges{open: map[string]bool{ids[3]: true}}
	s.Charges = c
	f.now = f.now.Add(time.Hour)
	if n, err := s.Expire(t.Context(), ids); n != 10 || err != nil {
		t.Errorf("%d ended, %v", n, err)
	}
	if c.asked != 1 || len(c.ended) != 1 || c.ended[0] != ids[3] {
		t.Errorf("asked %d times, closed %v", c.asked, c.ended)
	}
}

func TestAHoldIsNotClosedBeforeItsTime(t *testing.T) {
	f := newFakes()
	s := f.service()
	ids := holds(t, s, 1)
	c := &charges{open: map[string]bool{ids[0]: true}}
	s.Charges = c
	f.now = f.now.Add(14 * time.Minute)
	if n, err := s.Expire(t.Context(), ids); n != 0 || err != nil || len(c.ended) != 0 {
		t.Errorf("%d ended, %v, closed %v", n, err, c.ended)
	}
}

func TestAProviderThatIsSilentDelaysAnEndByHalfAMinute(t *testing.T) {
	f := newFakes()
	s := f.service()
	ids := holds(t, s, 3)
	s.Charges = &charges{open: map[string]bool{ids[1]: true}, end: func(string) error { return errors.New("away") }}
	for _, at := range []struct {
		late time.Duration
		ends int
	}{{0, 2}, {29 * time.Second, 0}, {2 * time.Second, 1}} {
		if at.late == 0 {
			f.now = f.now.Add(15 * time.Minute)
		}
		f.now = f.now.Add(at.late)
		if n, err := s.Expire(t.Context(), ids); n != at.ends || err != nil {
			t.Errorf("%d ended, %v; want %d", n, err, at.ends)
		}
	}
}

func TestACancelClosesTheChargeFirst(t *testing.T) {
	f := newFakes()
	s := f.service()
	ids := holds(t, s, 2)
	c := &charges{end: func(string) error { return errors.New("away") }}
	s.Charges = c
	var no *order.Refusal
	if _, err := s.Cancel(t.Context(), ids[0]); !errors.As(err, &no) || !no.Code.Retryable() || f.orders[ids[0]].Status != order.PreReserved {
		t.Errorf("cancelled with %v, it stands at %s", err, f.orders[ids[0]].Status)
	}
	// Paid in the meantime: the money is booked, and the order stands.
	c.end = func(id string) error { f.change(id, func(o *order.Order) { o.Status = order.Consumed }); return nil }
	var state *order.StateError
	if _, err := s.Cancel(t.Context(), ids[0]); !errors.As(err, &state) || state.Order.Status != order.Consumed {
		t.Errorf("cancelled what is paid: %v", err)
	}
	c.end = nil
	if o, err := s.Cancel(t.Context(), ids[1]); err != nil || o.Status != order.RolledBack || len(c.ended) != 2 {
		t.Errorf("%+v, %v, closed %v", o, err, c.ended)
	}
}

// sessions counts who was noted.
type sessions map[string]int

func (s sessions) Seen(_ context.Context, id string) error { s[id]++; return nil }

func TestWhoWaitsIsNotedAndOnlyForOrdersThatExist(t *testing.T) {
	_, s, o := placed(t)
	seen := sessions{}
	s.Sessions = seen
	_, _ = s.Wait(t.Context(), o.ID, time.Millisecond)
	_, _ = s.Wait(t.Context(), "01a3185c-5078-7000-8000-00000000dead", time.Millisecond)
	_, stop := s.Watch(t.Context(), o.ID)
	stop()
	_, _ = s.Get(t.Context(), o.ID)
	if len(seen) != 1 || seen[o.ID] != 2 {
		t.Errorf("noted %v", seen)
	}
}

func TestARetryTakesTheBasketUnderTodaysLimits(t *testing.T) {
	f, s, o := placed(t)
	if _, err := s.Cancel(t.Context(), o.ID); err != nil {
		t.Fatal(err)
	}
	o = f.orders[o.ID]
	var asked order.Basket
	f.deduct = func(_ int, b order.Basket) (order.Taken, error) {
		asked = b
		return order.Taken{Run: order.Run{Generation: "g.f", Ticket: 9}}, nil
	}
	got, err := s.Retry(t.Context(), o)
	if err != nil || got.Status != order.PreReserved || asked.Version != o.Version+1 || asked.Items[0].Limit != 3 {
		t.Errorf("%+v, %v; asked %+v", got, err, asked)
	}
	delete(f.products, "cola")
	var no *order.Refusal
	if _, err := s.Retry(t.Context(), o); !errors.As(err, &no) || no.Code != wire.CodeSKUUnknown {
		t.Errorf("not sold any more: %v", err)
	}
}
