package bench_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"vendline/edge/bench"
	"vendline/edge/standin/broker"
)

// TestTheBenchMeasuresWhatItPromises runs everything small, and holds the two
// limits that do not depend on the machine: memory and size.
func TestTheBenchMeasuresWhatItPromises(t *testing.T) {
	b, err := broker.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Stop() })
	opt := bench.Options{Dir: t.TempDir(), Appends: 200, Drain: 1000, Backlog: 2000, Module: "../..", Broker: bench.Broker{URL: b.URL()}}
	if !testing.Short() {
		opt.Backlog = 100_000
	}
	if runtime.GOOS != "linux" {
		opt.Module = "" // memory is read from /proc
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r, err := bench.Run(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if r.Append1PerSecond <= 0 || r.Append64PerSecond <= 0 || r.DrainPerSecond <= 0 || r.DrainEvents != 1000 {
		t.Errorf("not measured: %+v", r)
	}
	if opt.Module == "" {
		return
	}
	if r.RSSBacklogKiB >= 20<<10 {
		t.Errorf("%d KiB resident with %d rows waiting, at most 20 MiB", r.RSSBacklogKiB, r.BacklogRows)
	}
	if r.BinaryBytes >= 12<<20 {
		t.Errorf("the binary has %d bytes, at most 12 MiB", r.BinaryBytes)
	}
}
