package ledgertest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vendline/cloud/fence"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
)

func servers() []promise {
	return []promise{
		{"a Redis that was not met makes every cabinet stale, once", meetOne},
		{"a master of a cluster makes stale what it serves, and nothing else", meetShard},
		{"of many that meet a server at once, one fences", meetTogether},
		{"what committed before a meeting stands, what comes after is stale", meetRace},
		{"keys that were dropped make stale, once for each number", meetDropped},
		{"a service in synchronous mode keeps its token", meetDirect},
		{"every fence that is drawn is an incident", meetIncidents},
	}
}

// met meets a server and says whether that fenced.
func (f *Fixture) met(identity string, serves func(string) bool) bool {
	f.t.Helper()
	fenced, err := f.Meet(f.ctx, fence.Server{Identity: identity, Place: "127.0.0.1:6379", Serves: serves})
	f.ok(err)
	return fenced
}

func meetOne(t *testing.T, f *Fixture) {
	before := f.current(cabinet)
	if !f.met("a/1", nil) || f.met("a/1", nil) {
		t.Error("the first meeting fences, and no other")
	}
	after := f.current(cabinet)
	if after == before {
		t.Error("it is not stale")
	}
	if !f.met("a/2", nil) || f.current(cabinet) == after { // the same process, promoted
		t.Error("a promotion is another server")
	}
	again := f.current(cabinet)
	if f.met("a/1", nil) || f.current(cabinet) != again {
		t.Error("a known one fences")
	}
	all, err := f.Generations(f.ctx)
	f.ok(err)
	if all[cabinet] != again || len(all) != 1 {
		t.Errorf("generations %v, want %s", all, again)
	}
}

func meetShard(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 1})
	one, two := f.current(cabinet), f.current("C2")
	if !f.met("b/1", func(c string) bool { return c == "C2" }) || f.current(cabinet) != one || f.current("C2") == two {
		t.Errorf("%s and %s became %s and %s", one, two, f.current(cabinet), f.current("C2"))
	}
}

func meetTogether(t *testing.T, f *Fixture) {
	other := f.Open(func(*ledger.Options) {})
	var fenced atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		l := []*ledger.Ledger{f.Ledger, other}[i%2]
		all.Go(func() {
			ok, err := l.Meet(f.ctx, fence.Server{Identity: "c/1"})
			if err != nil {
				t.Error(err)
			}
			if ok {
				fenced.Add(1)
			}
		})
	}
	all.Wait()
	if fenced.Load() != 1 {
		t.Errorf("%d fenced", fenced.Load())
	}
}

func meetRace(t *testing.T, f *Fixture) {
	for i := range 10 {
		p := f.placement(f.order(line("cola", 1)))
		placed := make(chan error, 1)
		go func() { placed <- f.Place(f.ctx, p) }()
		f.met("d/"+string(rune('a'+i)), nil)
		err := <-placed
		if err != nil && !errors.Is(err, order.ErrStale) {
			t.Fatal(err)
		}
		if err == nil { // it was first
			f.move(p.Order.ID, order.Timeout)
		}
		f.load(cabinet)
	}
	f.settleAll()
}

func meetDropped(t *testing.T, f *Fixture) {
	dropped := func(n int64) bool {
		t.Helper()
		ok, err := f.Dropped(f.ctx, fence.Server{Identity: "e/1", Evicted: n})
		f.ok(err)
		return ok
	}
	f.met("e/1", nil)
	before := f.current(cabinet)
	if dropped(0) || f.current(cabinet) != before {
		t.Error("nothing was dropped")
	}
	if !dropped(3) || dropped(3) || dropped(2) || f.current(cabinet) == before || !dropped(4) {
		t.Error("three keys are one loss, the fourth another")
	}
}

func meetDirect(t *testing.T, f *Fixture) {
	direct := f.Open(func(o *ledger.Options) { o.Direct = true })
	before := f.current(cabinet)
	f.met("f/1", nil)
	if f.current(cabinet) != before {
		t.Error("its token is gone")
	}
	o := f.order(line("cola", 1))
	f.ok(direct.PlaceSync(f.ctx, o, nil))
}

func meetIncidents(t *testing.T, f *Fixture) {
	began := f.Now()
	f.met("g/1", nil)
	f.Pass(time.Second)
	f.ok(f.Draw(f.ctx, cabinet, f.current(cabinet)))
	f.ok(f.Draw(f.ctx, cabinet, "stale.already"))
	got, err := f.Incidents(f.ctx, began, 10)
	f.ok(err)
	if len(got) != 2 || got[0].Reason != fence.Doubted || got[0].Cabinet != cabinet || got[1].Reason != fence.Unmet || got[1].Cabinets != 1 || !got[1].At.Equal(began) {
		t.Errorf("incidents %+v", got)
	}
	if late, err := f.Incidents(f.ctx, f.Now().Add(time.Second), 10); err != nil || len(late) != 0 {
		t.Errorf("later: %v, %v", late, err)
	}
}
