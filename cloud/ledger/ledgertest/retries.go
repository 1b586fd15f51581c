package ledgertest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
)

func retries() []promise {
	return []promise{
		{"a retry counts only under the current generation", retryStale},
		{"a retry whose ticket was drawn twice does not count", retryDoubled},
		{"a retry that took nothing needs no ticket", retryWithoutTicket},
		{"a retry is checked even when the rollback travels with it", retryInOneGroup},
	}
}

func (f *Fixture) retry(o order.Order, r order.Run) error {
	return f.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.RetryDeduct, Version: o.Version, Run: r})
}

func retryStale(t *testing.T, f *Fixture) {
	o := f.inState(order.RolledBack)
	before := f.run("C2")
	f.load("C2")
	if err := f.retry(o, before); !errors.Is(err, order.ErrStale) {
		t.Errorf("got %v", err)
	}
	f.ok(f.retry(o, f.run("C2")))
	f.settleAll()
}

func retryDoubled(t *testing.T, f *Fixture) {
	o := f.inState(order.RolledBack)
	other := f.placement(f.orderAt("C2", line("cola", 1)))
	f.ok(f.Place(f.ctx, other))
	if err := f.retry(o, other.Run); !errors.Is(err, order.ErrDoubled) {
		t.Errorf("got %v", err)
	}
	if got := f.find(o.ID); got.Status != order.RolledBack || got.Version != o.Version {
		t.Errorf("stands at %s v%d", got.Status, got.Version)
	}
	f.settleAll()
}

func retryWithoutTicket(t *testing.T, f *Fixture) {
	for range 2 {
		f.ok(f.retry(f.inState(order.RolledBack), order.Run{Generation: f.gens["C2"]}))
	}
	f.settleAll()
}

// retryInOneGroup: whoever rolls back and retries in one breath must not get a
// hold that no stock was taken for.
func retryInOneGroup(t *testing.T, f *Fixture) {
	l := f.Open(func(o *ledger.Options) { o.Workers = 1 })
	for range 20 {
		o := f.inState(order.PreReserved)
		begin := make(chan struct{})
		var wg sync.WaitGroup
		var retried error
		for range 8 { // company, so that the two travel together
			wg.Go(func() { <-begin; _ = l.Transition(f.ctx, &order.Change{ID: f.ID(), Event: order.PaySuccess}) })
		}
		wg.Go(func() { <-begin; _ = l.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.Timeout}) })
		wg.Go(func() {
			<-begin
			retried = l.Transition(context.WithoutCancel(f.ctx), &order.Change{ID: o.ID, Event: order.RetryDeduct, Run: order.Run{Generation: "gone.first", Ticket: 1}})
		})
		close(begin)
		wg.Wait()
		if retried == nil {
			t.Fatal("a retry under a generation that is gone was carried out")
		}
	}
	f.settleAll()
}
