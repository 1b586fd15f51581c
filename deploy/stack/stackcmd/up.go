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

// Up starts the servers on their fixed ports. In the foreground it stays until
// it is interrupted, or until what it started was stopped from elsewhere.
type Up struct {
	Servers
	Dir       string `help:"Data, logs, passwords and stack.json." type:"path" default:"var/stack"`
	Detach    bool   `help:"Return once everything runs."`
	FreePorts bool   `help:"Take any free ports, not the fixed ones."`

	// After runs once the servers answer: the place to Add vend-cloud and agents.
	After func(context.Context, *stack.Stack) error `kong:"-"`
}

// Run does it.
func (u Up) Run(ctx context.Context) error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	o := u.options()
	o.Dir, o.Log, o.Outlive = u.Dir, os.Stderr, u.Detach
	if !u.FreePorts {
		o.Ports = stack.FixedPorts()
	}
	s, err := startOrSignal(ctx, o, signals)
	if errors.Is(err, stack.ErrRunning) && u.Detach {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	if err != nil {
		sayLogs(u.Dir)
		return err
	}
	if u.After != nil {
		if err := u.After(ctx, s); err != nil {
			sayLogs(u.Dir)
			return errors.Join(err, s.Stop())
		}
	}
	fmt.Fprintf(os.Stderr, "ready; passwords and addresses are in %s\n", filepath.Join(s.Dir, "stack.json"))
	if u.Detach {
		fmt.Fprintf(os.Stderr, "stop it with `vend stack down --dir %s`\n", u.Dir)
		return nil
	}
	watch(ctx, s, signals)
	fmt.Fprintln(os.Stderr, "stopping")
	return s.Stop()
}

// watch returns when it is told to end, or when nothing is left to watch. A
// process that ends alone is reported: the others go on.
func watch(ctx context.Context, s *stack.Stack, signals <-chan os.Signal) {
	servers := s.Servers()
	gone := make(chan *stack.Server, len(servers))
	for _, server := range servers {
		go func() {
			<-server.Exited()
			gone <- server
		}()
	}
	for range servers {
		select {
		case <-signals:
			return
		case <-ctx.Done():
			return
		case server := <-gone:
			fmt.Fprintf(os.Stderr, "%s ended; its log: %s\n", server.Name(), server.Log())
		}
	}
}
