package ledgertest

import (
	"sync"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

func outboxes() []promise {
	return []promise{
		{"a fresh row is left to its own process until the lease is over", claimFresh},
		{"a claimed row is nobody else's until its lease is over", claimLease},
		{"two claimers lose nothing and share nothing", claimTwo},
		{"a deleted row is never claimed", claimDeleted},
		{"the backlog tells depth and age", backlog},
	}
}

func (f *Fixture) claim(kind outbox.Kind, n int) []outbox.Row {
	f.t.Helper()
	rows, err := f.Claim(f.ctx, kind, n, func(attempts int) time.Duration { return time.Duration(attempts) * time.Minute })
	f.ok(err)
	return rows
}

func claimFresh(t *testing.T, f *Fixture) {
	f.place(line("cola", 1))
	if got := f.claim(outbox.KindStock, 10); len(got) != 0 {
		t.Errorf("claimed %+v", got)
	}
	f.Pass(time.Minute)
	if got := f.claim(outbox.KindStock, 10); len(got) != 1 {
		t.Errorf("claimed %+v", got)
	}
	f.settleAll()
}

func claimLease(t *testing.T, f *Fixture) {
	f.place(line("cola", 1))
	first := f.Fed()
	f.Pass(time.Hour)
	for attempt := 1; attempt <= 3; attempt++ {
		got := f.claim(outbox.KindTimer, 10)
		if len(got) != 1 || got[0].Attempts != attempt || !got[0].DueAt.Equal(f.Now().Add(time.Duration(attempt)*time.Minute)) {
			t.Fatalf("claim %d: %+v", attempt, got)
		}
		for _, row := range first {
			if row.ID == got[0].ID && string(row.Payload) != string(got[0].Payload) {
				t.Errorf("claimed %s, written %s", got[0].Payload, row.Payload)
			}
		}
		f.Pass(time.Duration(attempt)*time.Minute - time.Millisecond)
		if got := f.claim(outbox.KindTimer, 10); len(got) != 0 {
			t.Errorf("claimed within the lease: %+v", got)
		}
		f.Pass(time.Millisecond)
	}
	f.settleAll()
}

func claimTwo(t *testing.T, f *Fixture) {
	const rows = 120
	f.AddStock("C2", map[string]int64{"cola": rows})
	for range rows {
		f.ok(f.Place(f.ctx, f.placement(f.orderAt("C2", line("cola", 1)))))
	}
	f.Pass(time.Hour)
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := map[string]int{}
	for range 4 {
		wg.Go(func() {
			for {
				got := f.claim(outbox.KindStock, 7)
				if len(got) == 0 {
					return
				}
				mu.Lock()
				for _, r := range got {
					seen[r.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	// A claimer that meets nothing but locked rows leaves early: what is left
	// is claimed by whoever comes next.
	for _, r := range f.claim(outbox.KindStock, rows) {
		seen[r.ID]++
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("row %s was claimed %d times", id, n)
		}
	}
	if len(seen) != rows {
		t.Errorf("%d of %d rows were claimed", len(seen), rows)
	}
	f.settleAll()
}

func claimDeleted(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 1))
	f.move(o.ID, order.Timeout)
	f.Pass(time.Hour)
	row := f.claim(outbox.KindRedis, 1)[0]
	f.ok(f.Delete(f.ctx, row.ID))
	f.ok(f.Delete(f.ctx, row.ID))
	f.ok(f.Delete(f.ctx))
	f.Pass(time.Hour)
	if got := f.claim(outbox.KindRedis, 10); len(got) != 0 {
		t.Errorf("claimed %+v", got)
	}
	f.settleAll()
}

func backlog(t *testing.T, f *Fixture) {
	f.place(line("cola", 1))
	f.Pass(time.Minute)
	f.place(line("cola", 1))
	f.Pass(time.Second)
	stats, err := f.Backlog(f.ctx)
	f.ok(err)
	want := map[outbox.Kind]outbox.Stat{
		outbox.KindStock: {Kind: outbox.KindStock, Depth: 2, Oldest: 61 * time.Second},
		outbox.KindTimer: {Kind: outbox.KindTimer, Depth: 2, Oldest: 61 * time.Second},
	}
	if len(stats) != len(outbox.Kinds) {
		t.Errorf("%d kinds", len(stats))
	}
	for _, s := range stats {
		w := want[s.Kind]
		w.Kind = s.Kind
		if s != w {
			t.Errorf("got %+v, want %+v", s, w)
		}
	}
	f.settleAll()
}
