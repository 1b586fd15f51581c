// Package bench measures the edge: how fast an outbox promises, how fast a
// backlog drains, and how much memory and disk the binary takes. It returns
// numbers; who calls it prints them.
package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Options of a run. The zero value measures what needs neither a broker nor a
// Go toolchain.
type Options struct {
	Dir string // scratch folder on the disk to be measured; empty means a temporary one

	Appends int           // events per append measurement; 0 means 20,000
	Longest time.Duration // of one append measurement, which then counts what it got; 0 means 10 s

	Broker Broker // no URL: draining is not measured
	Drain  int    // events to drain; 0 means 20,000

	Binary  string // vend-edge; empty: built from Module, if that is given
	Module  string // folder of the vendline module
	Backlog int    // rows waiting in the memory measurement; 0 means 100,000
}

// Broker is a real MQTT broker, with the users that its access rules know.
type Broker struct {
	URL             string // tcp://host:1883
	CloudUser       string
	CloudPassword   string
	Cabinet         string // whose agent drains; empty means BENCH
	CabinetPassword string
}

// Result holds what was measured; zero means it was not.
type Result struct {
	Append1PerSecond  float64 `json:"append_fsync_1_writer_per_second"`
	Append64PerSecond float64 `json:"append_fsync_64_writers_per_second"`
	Fsync1Micros      float64 `json:"append_fsync_1_writer_mean_us"`

	DrainEvents    int     `json:"drain_events"`
	DrainPerSecond float64 `json:"drain_acked_events_per_second"`
	DrainResent    int64   `json:"drain_events_sent_again"`

	RSSEmptyKiB   int64 `json:"rss_0_rows_kib"`
	RSSBacklogKiB int64 `json:"rss_backlog_rows_kib"`
	RSSPeakKiB    int64 `json:"rss_peak_kib"`
	BacklogRows   int64 `json:"rss_backlog_rows"`
	BacklogBytes  int64 `json:"rss_backlog_file_bytes"`
	// HTTPPerSecond is scan-orders posted over the local API while the backlog
	// was made, each synced before its 202.
	HTTPPerSecond float64 `json:"http_202_64_connections_per_second"`

	BinaryBytes int64 `json:"binary_stripped_bytes"`
}

// Run measures everything that opt allows.
func Run(ctx context.Context, opt Options) (r Result, err error) {
	if opt.Dir == "" {
		if opt.Dir, err = os.MkdirTemp("", "vend-edge-bench-"); err != nil {
			return r, fmt.Errorf("bench: %w", err)
		}
		defer os.RemoveAll(opt.Dir)
	}
	if err := r.appends(ctx, opt); err != nil {
		return r, fmt.Errorf("bench: append: %w", err)
	}
	if opt.Broker.URL != "" {
		if err := r.drain(ctx, opt); err != nil {
			return r, fmt.Errorf("bench: drain: %w", err)
		}
	}
	if opt.Binary == "" && opt.Module != "" {
		if opt.Binary, err = Build(ctx, opt.Module, opt.Dir); err != nil {
			return r, err
		}
	}
	if opt.Binary != "" {
		if err := r.binary(ctx, opt); err != nil {
			return r, fmt.Errorf("bench: binary: %w", err)
		}
	}
	return r, nil
}

// Build compiles vend-edge as it is shipped (static, stripped) into dir and
// returns its path.
func Build(ctx context.Context, module, dir string) (string, error) {
	path := filepath.Join(dir, "vend-edge")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./edge/cmd/vend-edge")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("bench: build: %w\n%s", err, out)
	}
	return path, nil
}
