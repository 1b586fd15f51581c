package stackcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"vendline/deploy/stack"
)

// Run starts a private stack, runs a command that finds it through
// VENDLINE_STACK, and stops the stack, whatever became of the command. Its
// error is an ExitError when the command's exit code was not 0.
type Run struct {
	Servers
	Dir     string   `help:"Keep data here; without it, they go to a temporary folder and away again." type:"path" placeholder:"DIR"`
	Command []string `arg:"" passthrough:"" help:"The command and its arguments, after --."`
}

// Run does it.
func (r Run) Run(ctx context.Context) (err error) {
	// From here on a signal ends the command, or the start, but never us
	// before the servers are gone.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	o := r.options()
	o.Dir, o.Log = r.Dir, os.Stderr
	temporary := r.Dir == ""
	if temporary {
		if o.Dir, err = os.MkdirTemp("", "vendline-run-"); err != nil {
			return err
		}
	}
	s, err := startOrSignal(ctx, o, signals)
	if err != nil {
		sayLogs(o.Dir)
		if temporary {
			err = errors.Join(err, stack.KeepLogs(o.Dir))
		}
		return err
	}
	command := r.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	code, err := s.Exec(ctx, command, signals)
	if code != 0 || err != nil {
		for _, server := range s.Servers() {
			if server.PID() == 0 {
				fmt.Fprintf(os.Stderr, "%s is down, and was not when the command began\n", server.Name())
			}
		}
		sayLogs(o.Dir)
	}
	switch {
	case !temporary:
		err = errors.Join(err, s.Stop())
	case code != 0 || err != nil:
		err = errors.Join(err, s.Kill(), stack.KeepLogs(o.Dir))
	default:
		err = s.Discard()
	}
	if err == nil && code != 0 {
		return ExitError{code}
	}
	return err
}

// startOrSignal starts the stack unless a signal arrives first; then nothing
// of it is left running.
func startOrSignal(ctx context.Context, o stack.Options, signals <-chan os.Signal) (*stack.Stack, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	started := make(chan struct{})
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case sig := <-signals:
			cancel(fmt.Errorf("interrupted by %v", sig))
		case <-started:
		}
	}()
	s, err := stack.Start(ctx, o)
	close(started)
	<-watching
	if err == nil && ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), s.Kill())
	}
	return s, err
}

func sayLogs(dir string) {
	logs, err := filepath.Glob(filepath.Join(dir, "log", "*.log"))
	if err == nil && len(logs) > 0 {
		fmt.Fprintf(os.Stderr, "logs of the servers: %s\n", filepath.Join(dir, "log", "*.log"))
	}
}
