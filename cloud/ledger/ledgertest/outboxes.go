package ledgertest

import (
	"fmt"
	"strings"
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
		{"a claimer that dies loses nothing: its rows come when their lease is over", claimerDies},
		{"rows that a silent queue keeps are claimed before their lease is over, once", claimStalled},
		{"rows that come again and again are told of as stuck, with their last error", stuckRows},
		{"nothing is left of what was sent", nothingLeft},
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

// A claimer that ends between claim and delete stands for a process killed there.
func claimerDies(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"gum": 20})
	for range 20 {
		f.ok(f.Place(f.ctx, f.placement(f.orderAt("C2", line("gum", 1)))))
	}
	f.Pass(time.Minute)
	dead := f.Open(nil)
	taken, err := dead.Claim(f.ctx, outbox.KindTimer, 7, once)
	f.ok(err)
	dead.Close()
	rest := f.claim(outbox.KindTimer, 100)
	if len(taken)+len(rest) != 20 {
		t.Errorf("%d claimed by the dead, %d by the living", len(taken), len(rest))
	}
	for _, r := range rest {
		f.ok(f.Delete(f.ctx, r.ID))
	}
	if got := f.claim(outbox.KindTimer, 100); len(got) != 0 {
		t.Errorf("%d rows within a dead process's lease", len(got))
	}
	f.Pass(time.Minute)
	if got := f.claim(outbox.KindTimer, 100); len(got) != 7 || got[0].Attempts != 2 {
		t.Errorf("%d rows of the dead come again", len(got))
	}
	f.settleAll()
}

func claimStalled(t *testing.T, f *Fixture) {
	f.place(line("cola", 1))
	shard := f.rows(outbox.KindStock)[0].Shard
	look := func(shards ...int) int {
		got, err := f.ClaimStalled(f.ctx, 10, shards, 2*time.Second, time.Minute)
		f.ok(err)
		return len(got)
	}
	if n := look(shard); n != 0 {
		t.Errorf("%d fresh rows", n)
	}
	f.Pass(2 * time.Second)
	if n := look(shard + 1); n != 0 {
		t.Errorf("%d rows of another shard", n)
	}
	if n := look(shard+1, shard); n != 1 {
		t.Errorf("%d overdue rows", n)
	}
	f.Pass(30 * time.Second)
	if n := look(shard) + len(f.claim(outbox.KindStock, 10)); n != 0 {
		t.Errorf("claimed %d times within a lease", n)
	}
	f.Pass(time.Minute)
	if n := len(f.claim(outbox.KindStock, 10)); n != 1 {
		t.Errorf("%d rows after the lease", n)
	}
	f.settleAll()
	// A statement that failed waits for its own time.
	f.place(line("chips", 1))
	back := f.lose("chips")
	f.apply(f.messages()...)
	f.Pass(time.Minute)
	if n := look(shard); n != 0 {
		t.Errorf("a retry is claimed as if nobody had seen it")
	}
	back()
	f.settleAll()
}

func stuckRows(t *testing.T, f *Fixture) {
	f.place(line("cola", 1))
	stuck := outbox.ScheduleOf(outbox.KindTimer).Stuck
	for i := range stuck {
		f.Pass(time.Hour)
		if got, err := f.StuckRows(f.ctx, 10); err != nil || len(got) != 0 {
			t.Fatalf("stuck after %d claims: %+v, %v", i, got, err)
		}
		rows := f.claim(outbox.KindTimer, 10)
		f.ok(f.Note(f.ctx, fmt.Sprint("away ", i, strings.Repeat("☃", 300)), rows[0].ID))
	}
	got, err := f.StuckRows(f.ctx, 10)
	f.ok(err)
	if len(got) != 1 || got[0].Kind != outbox.KindTimer || got[0].Attempts != stuck || len(got[0].Payload) == 0 || !strings.HasPrefix(got[0].LastError, fmt.Sprint("away ", stuck-1)) {
		t.Errorf("stuck %+v", got)
	}
	stats, err := f.Backlog(f.ctx)
	f.ok(err)
	for _, s := range stats {
		if want := map[bool]int64{true: 1}[s.Kind == outbox.KindTimer]; s.Stuck != want {
			t.Errorf("%+v", s)
		}
	}
	f.settleAll()
}

func nothingLeft(t *testing.T, f *Fixture) {
	for range 5 {
		o := f.place(line("cola", 1))
		f.move(o.ID, order.Timeout)
		f.settleAll()
		for _, k := range outbox.Kinds {
			f.Pass(time.Hour)
			for _, r := range f.claim(k, 100) {
				f.ok(f.Delete(f.ctx, r.ID))
			}
		}
	}
	if n := f.count("SELECT COUNT(*) FROM local_msg"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}
