package ledgertest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"vendline/cloud/effect"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

func transitions() []promise {
	return []promise{
		{"the sixteen pairs of state and event", matrix},
		{"a transition states, releases and times what follows from it", moveTells},
		{"a change may insist on a version", moveVersion},
		{"a hold does not end before its time", moveNotBefore},
		{"of two that end one hold, one does", moveRace},
		{"an unknown order costs its change only", moveUnknown},
	}
}

// inState makes an order that stands in a state.
func (f *Fixture) inState(s order.Status) order.Order {
	f.t.Helper()
	if f.opening["C2"] == nil {
		f.AddStock("C2", map[string]int64{"cola": 100})
	}
	f.settleAll()
	o := f.orderAt("C2", line("cola", 1))
	f.ok(f.Place(f.ctx, f.placement(o)))
	switch s {
	case order.Init: // taken in and not placed yet
		f.exec("UPDATE trade_order SET status = 'INIT', version = 0, hold_until = NULL WHERE order_sn = ?", o.ID)
		f.exec("DELETE FROM local_msg WHERE kind = 'stock'")
	case order.Consumed:
		f.move(o.ID, order.PaySuccess)
	case order.RolledBack:
		f.move(o.ID, order.Timeout)
	}
	return f.find(o.ID)
}

func matrix(t *testing.T, f *Fixture) {
	allowed := map[string]order.Status{
		"INIT EV_PRE_DEDUCT": order.PreReserved, "PRE_RESERVED EV_PAY_SUCCESS": order.Consumed,
		"PRE_RESERVED EV_TIMEOUT": order.RolledBack, "ROLLBACKED EV_RETRY_DEDUCT": order.PreReserved,
	}
	for _, s := range order.Statuses {
		for _, e := range order.Events {
			before := f.inState(s)
			c := order.Change{ID: before.ID, Event: e, Cause: "test", Run: f.run("C2")}
			err := f.Transition(f.ctx, &c)
			after := f.find(before.ID)
			to, ok := allowed[fmt.Sprint(s, " ", e)]
			var refused *order.StateError
			switch {
			case ok && (err != nil || after.Status != to || after.Version != before.Version+1 || c.After.Version != after.Version):
				t.Errorf("%s in %s: %v, stands at %s v%d", e, s, err, after.Status, after.Version)
			case !ok && (!errors.As(err, &refused) || refused.Order.Status != s || after.Version != before.Version):
				t.Errorf("%s in %s: %v, stands at %s v%d", e, s, err, after.Status, after.Version)
			}
			if after.Status == order.Init {
				f.move(after.ID, order.PreDeduct)
			}
		}
	}
	f.settleAll()
}

func moveTells(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 2))
	f.settleAll()
	f.exec("DELETE FROM local_msg")
	f.Pass(time.Second)

	rolled := f.move(o.ID, order.Timeout)
	if !rolled.HoldUntil.IsZero() {
		t.Errorf("a hold that is over ends at %v", rolled.HoldUntil)
	}
	want := effect.Release{ID: o.ID, Cabinet: cabinet, User: "ann", Version: 2}
	if es := f.effects(); len(es) != 1 || es[0].Release == nil || es[0].Release.ID != want.ID || es[0].Release.Version != 2 || es[0].Release.User != "ann" || es[0].Release.Lines[0].Qty != 2 {
		t.Errorf("effects %+v, want %+v", es, want)
	}
	f.wantBacklog(outbox.KindStock, 1)
	f.wantBacklog(outbox.KindTimer, 0)
	f.settleAll()
	f.wantStock("cola", 10, 0, 0)
	f.exec("DELETE FROM local_msg")

	held := f.move(o.ID, order.RetryDeduct)
	if want := f.Now().Add(15 * time.Minute); !held.HoldUntil.Equal(want) || held.Version != 3 {
		t.Errorf("held until %v at v%d, want %v", held.HoldUntil, held.Version, want)
	}
	f.wantBacklog(outbox.KindRedis, 0)
	f.wantBacklog(outbox.KindTimer, 1)
	f.settleAll()
	f.wantStock("cola", 8, 2, 0)

	f.move(o.ID, order.PaySuccess)
	f.wantBacklog(outbox.KindRedis, 0)
	f.settleAll()
	f.wantStock("cola", 8, 0, 2)
}

func moveVersion(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 1))
	var refused *order.StateError
	if err := f.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.Timeout, Version: 2}); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
	f.ok(f.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.Timeout, Version: 1}))
}

func moveNotBefore(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 1))
	end := o.HoldUntil
	var refused *order.StateError
	if err := f.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.Timeout, NotBefore: end.Add(-time.Millisecond)}); !errors.As(err, &refused) {
		t.Errorf("ended early: %v", err)
	}
	f.ok(f.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.Timeout, NotBefore: end}))
}

func moveRace(t *testing.T, f *Fixture) {
	for range 10 {
		o := f.place(line("cola", 1))
		var done [8]error
		var wg sync.WaitGroup
		for i := range done {
			wg.Go(func() {
				e := order.Timeout
				if i%2 == 0 {
					e = order.PaySuccess
				}
				done[i] = f.Transition(f.ctx, &order.Change{ID: o.ID, Event: e})
			})
		}
		wg.Wait()
		n := 0
		for _, err := range done {
			var refused *order.StateError
			if err == nil {
				n++
			} else if !errors.As(err, &refused) {
				t.Error(err)
			}
		}
		if got := f.find(o.ID); n != 1 || got.Version != 2 {
			t.Errorf("%d of 8 changes were carried out, it stands at %s v%d", n, got.Status, got.Version)
		}
	}
	f.settleAll()
}

func moveUnknown(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 1))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := f.Transition(f.ctx, &order.Change{ID: f.ID(), Event: order.PaySuccess}); !errors.Is(err, order.ErrUnknown) {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Go(func() { f.ok(f.Transition(f.ctx, &order.Change{ID: o.ID, Event: order.PaySuccess})) })
	wg.Wait()
}
