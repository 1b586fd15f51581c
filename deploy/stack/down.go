package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Alive tells whether the recorded process still runs: this very one, not
// another that got its pid later.
func (r Record) Alive() bool {
	args, started, err := identity(r.PID)
	// A script's command line has its interpreter in front.
	return err == nil && started == r.Started && len(args) >= len(r.Args) &&
		slices.Equal(args[len(args)-len(r.Args):], r.Args)
}

// Down stops a stack that another process started, by the pids in stack.json,
// in the order of [Stack.Stop]. A stack that is down already is no error.
func Down(ctx context.Context, dir string, log io.Writer) error {
	d, err := Load(dir)
	if err != nil {
		return err
	}
	var servers errgroup.Group
	var errs []error
	for _, r := range slices.Backward(d.Processes) {
		if r.Extra {
			errs = append(errs, r.stop(ctx, log))
		}
	}
	for _, r := range d.Processes {
		if !r.Extra {
			servers.Go(func() error { return r.stop(ctx, log) })
		}
	}
	return errors.Join(append(errs, servers.Wait())...)
}

// stop ends a recorded process, with SIGKILL when its grace or ctx is over.
func (r Record) stop(ctx context.Context, log io.Writer) error {
	if !r.Alive() {
		return nil
	}
	if err := endGroup(r.PID); err != nil {
		return err
	}
	grace := time.After(time.Duration(r.GraceSeconds * float64(time.Second)))
	for killed := false; r.Alive(); {
		select {
		case <-time.After(20 * time.Millisecond):
			continue
		case <-grace:
		case <-ctx.Done():
		}
		if killed {
			return fmt.Errorf("stack: %s, pid %d, survived SIGKILL", r.Name, r.PID)
		}
		if err := killGroup(r.PID); err != nil {
			return err
		}
		killed, grace = true, time.After(5*time.Second)
		ctx = context.Background()
	}
	fmt.Fprintf(log, "%-10s stopped\n", r.Name)
	return nil
}
