package ledgertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func placements() []promise {
	return []promise{
		{"a placed order is found as it was placed", placeFind},
		{"an order, its ticket and its outbox rows commit together", placeRows},
		{"an id has one order", placeTwice},
		{"two taps of one key take its stock once", placeTapped},
		{"a stale generation is refused and leaves nothing", placeStale},
		{"a ticket drawn twice is refused and leaves nothing", placeDoubled},
		{"an unknown cabinet has no generation", placeNowhere},
		{"holds that are over are found, oldest first", overdue},
		{"a cabinet's recent orders come newest first", recent},
	}
}

func placeFind(t *testing.T, f *Fixture) {
	o := f.place(line("chips", 2), line("cola", 3))
	if got := f.find(o.ID); !reflect.DeepEqual(got, o) {
		t.Errorf("found  %+v\nplaced %+v", got, o)
	}
	if _, err := f.Find(f.ctx, f.ID()); !errors.Is(err, order.ErrUnknown) {
		t.Errorf("an id without order: %v", err)
	}
}

func placeRows(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 3))
	want := []statement.Message{{V: 1, Row: f.messages()[0].Row, Statements: []statement.Statement{
		{ID: o.ID, Cabinet: cabinet, State: statement.PreReserved, Version: 1, Lines: []wire.Line{{SKU: "cola", Qty: 3}}},
	}}}
	if got := f.messages(); !reflect.DeepEqual(got, want) {
		t.Errorf("states %+v, want %+v", got, want)
	}
	timers := f.rows(outbox.KindTimer)
	var hint outbox.Timer
	f.ok(json.Unmarshal(timers[0].Payload, &hint))
	if len(timers) != 1 || hint.At != o.ExpiresAt.UnixMilli() || !reflect.DeepEqual(hint.IDs, []string{o.ID}) {
		t.Errorf("timer %+v", hint)
	}
	f.wantBacklog(outbox.KindRedis, 0)
	if n := f.count("SELECT COUNT(*) FROM trade_stock_ticket WHERE owner = ?", o.ID); n != 1 {
		t.Errorf("%d tickets", n)
	}
	if fed := f.Fed(); len(fed) != 2 {
		t.Errorf("%d rows handed over at once, want both", len(fed))
	}
	if got := f.Changed(); len(got) != 1 || !reflect.DeepEqual(got[0], o) {
		t.Errorf("announced %+v", got)
	}
}

func placeTwice(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 1))
	again := o
	again.Lines = []order.Line{line("cola", 9)}
	if err := f.Place(f.ctx, f.placement(again)); !errors.Is(err, order.ErrExists) || !errors.Is(err, order.ErrSpare) {
		t.Errorf("under another run: %v", err)
	}
	if got := f.find(o.ID); !reflect.DeepEqual(got, o) {
		t.Errorf("the first order became %+v", got)
	}
	f.wantBacklog(outbox.KindStock, 1)
}

// Two taps of one key share a run: whichever comes second took nothing besides.
func placeTapped(t *testing.T, f *Fixture) {
	p := f.placement(f.order(line("cola", 1)))
	f.ok(f.Place(f.ctx, p))
	if err := f.Place(f.ctx, p); !errors.Is(err, order.ErrExists) || errors.Is(err, order.ErrSpare) {
		t.Errorf("under the same run: %v", err)
	}
	f.wantBacklog(outbox.KindStock, 1)
}

func placeStale(t *testing.T, f *Fixture) {
	p := f.placement(f.order(line("cola", 1)))
	f.load(cabinet)
	if err := f.Place(f.ctx, p); !errors.Is(err, order.ErrStale) {
		t.Errorf("got %v", err)
	}
	f.wantNothing()
	p.Run = f.run(cabinet)
	f.ok(f.Place(f.ctx, p))
}

func placeDoubled(t *testing.T, f *Fixture) {
	first, second := f.placement(f.order(line("cola", 1))), f.placement(f.order(line("cola", 1)))
	second.Run = first.Run
	f.ok(f.Place(f.ctx, first))
	if err := f.Place(f.ctx, second); !errors.Is(err, order.ErrDoubled) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Find(f.ctx, second.Order.ID); !errors.Is(err, order.ErrUnknown) {
		t.Errorf("the order stands: %v", err)
	}
	f.wantBacklog(outbox.KindStock, 1)
}

func placeNowhere(t *testing.T, f *Fixture) {
	o := f.orderAt("C404", line("cola", 1))
	if err := f.Place(f.ctx, &order.Placement{Order: o, Run: f.run(cabinet)}); !errors.Is(err, order.ErrStale) {
		t.Errorf("got %v", err)
	}
	f.wantNothing()
}

// wantNothing: no order and no outbox row has come about.
func (f *Fixture) wantNothing() {
	f.t.Helper()
	if n := f.count("SELECT COUNT(*) FROM trade_order"); n != 0 {
		f.t.Errorf("%d orders stand", n)
	}
	if n := f.count("SELECT COUNT(*) FROM local_msg"); n != 0 {
		f.t.Errorf("%d outbox rows wait", n)
	}
	if fed := f.Fed(); len(fed) != 0 {
		f.t.Errorf("%d rows were handed over", len(fed))
	}
}

func overdue(t *testing.T, f *Fixture) {
	first := f.place(line("cola", 1))
	f.Pass(time.Minute)
	second := f.place(line("cola", 1))
	f.Pass(14 * time.Minute)
	for _, step := range []struct {
		pass time.Duration
		want []string
	}{{-time.Millisecond, nil}, {time.Millisecond, []string{first.ID}}, {time.Minute, []string{first.ID, second.ID}}} {
		f.Pass(step.pass)
		got, err := f.Overdue(f.ctx, f.Now(), 10)
		f.ok(err)
		if fmt.Sprint(got) != fmt.Sprint(step.want) {
			t.Errorf("overdue %v, want %v", got, step.want)
		}
	}
	f.move(first.ID, order.PaySuccess)
	f.move(second.ID, order.Timeout)
	if got, err := f.Overdue(f.ctx, f.Now(), 10); err != nil || len(got) != 0 {
		t.Errorf("overdue %v, %v; one is paid, one over", got, err)
	}
}

func recent(t *testing.T, f *Fixture) {
	var want []string
	for range 3 {
		f.Pass(time.Second)
		want = append([]string{f.place(line("cola", 1)).ID}, want...)
	}
	got, err := f.Recent(f.ctx, cabinet, 2)
	f.ok(err)
	if len(got) != 2 || got[0].ID != want[0] || got[1].ID != want[1] {
		t.Errorf("got %+v, want %v", got, want[:2])
	}
}
