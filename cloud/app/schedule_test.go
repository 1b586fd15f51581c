package app

import (
	"log/slog"
	"path/filepath"
	"testing"

	"vendline/cloud/callback"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
)

// The table of schedules is what runs.
func TestEveryRunnerKeepsItsSchedule(t *testing.T) {
	dir := t.TempDir()
	a, err := New(t.Context(), Config{HTTP: "127.0.0.1:0", Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "embedded", Queue: "bolt:" + filepath.Join(dir, "q.db"),
		CallbackSecret: "a secret of sixteen bytes"}, System(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	seen := map[outbox.Kind]bool{}
	for _, r := range a.runners {
		s := outbox.ScheduleOf(r.Kind)
		longest := r.Longest
		if longest == 0 {
			longest = outbox.Longest
		}
		if seen[r.Kind] = true; r.Lease != s.First || longest != s.Longest {
			t.Errorf("%s: from %v to %v, the table says from %v to %v", r.Kind, r.Lease, longest, s.First, s.Longest)
		}
	}
	for _, k := range outbox.Kinds {
		if !seen[k] && k != outbox.KindAlert { // which only a service with sinks has
			t.Errorf("nobody carries %s rows", k)
		}
	}
	for k, n := range map[outbox.Kind]int{outbox.KindCallback: callback.Attempts, outbox.KindRefund: payment.MaxAttempts, outbox.KindNotice: payment.MaxAttempts} {
		if s := outbox.ScheduleOf(k); s.Attempts != n {
			t.Errorf("%s is given up after %d attempts, the table says %d", k, n, s.Attempts)
		}
	}
}
