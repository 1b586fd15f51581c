package ledgertest

import (
	"testing"
	"time"

	"vendline/cloud/outbox"
)

func prunes() []promise {
	return []promise{
		{"tickets of a generation that has been over for a day go, and no others", prunedAfterADay},
		{"many tickets go in one pass, a few at a time", prunedInBatches},
		{"a fleet's new token ends every cabinet's generation", prunedFleet},
	}
}

func (f *Fixture) prune(want int) {
	f.t.Helper()
	if n, err := f.PruneTickets(f.ctx); err != nil || n != want {
		f.t.Errorf("pruned %d, %v, want %d", n, err, want)
	}
}

func prunedAfterADay(t *testing.T, f *Fixture) {
	f.place(line("cola", 1))
	f.place(line("cola", 1))
	f.Pass(48 * time.Hour)
	f.prune(0) // old, and current
	f.load(cabinet)
	f.place(line("chips", 1))
	f.prune(0) // over, since now
	f.Pass(24*time.Hour - time.Millisecond)
	f.prune(0)
	f.Pass(time.Millisecond)
	f.prune(2)
	if n := f.count("SELECT COUNT(*) FROM trade_stock_ticket"); n != 1 {
		t.Errorf("%d tickets are left, want the current generation's one", n)
	}
	if n := f.count("SELECT COUNT(*) FROM trade_ticket_stale"); n != 0 {
		t.Errorf("%d marks are left", n)
	}
	f.settleAll()
}

func prunedInBatches(t *testing.T, f *Fixture) {
	for i := range 1234 {
		f.exec("INSERT INTO trade_stock_ticket (cabinet_id, generation, ticket, owner) VALUES (?,?,?,?)", cabinet, "0ld.0", i, "o")
	}
	f.prune(0)
	f.Pass(24 * time.Hour)
	f.prune(1234)
	f.prune(0)
	f.wantBacklog(outbox.KindStock, 0)
}

func prunedFleet(t *testing.T, f *Fixture) {
	f.place(line("cola", 1))
	f.ok(f.DrawFleet(f.ctx))
	f.prune(0)
	f.Pass(24 * time.Hour)
	f.prune(1)
	f.settleAll()
}
