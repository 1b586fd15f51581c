package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/term"
)

// farewell is how long a command may take to end once it was asked to.
const farewell = 20 * time.Second

// Exec runs a command that finds this stack by its environment, with our
// standard streams, and returns its exit code. Signals are passed on to it and
// to its children; when ctx ends, it is asked to end and killed after 20 s. No
// child of it is left when Exec returns.
//
// A command at a terminal stays in our process group, or it could not read
// from there; the terminal then signals it itself.
func (s *Stack) Exec(ctx context.Context, argv []string, signals <-chan os.Signal) (code int, err error) {
	if len(argv) == 0 {
		return 0, errors.New("stack: no command to run")
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), s.Env())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	pass := func(sig os.Signal) error { return cmd.Process.Signal(sig) }
	end := func() error { return cmd.Process.Kill() }
	atTerminal := term.IsTerminal(int(os.Stdin.Fd()))
	if !atTerminal {
		cmd.SysProcAttr = processGroup(false)
		pass = func(sig os.Signal) error { return signalGroup(cmd.Process.Pid, sig) }
		end = func() error { return killGroup(cmd.Process.Pid) }
	}
	started, ended := startAndWait(cmd)
	if err := <-started; err != nil {
		return 0, fmt.Errorf("stack: run %s: %w", argv[0], err)
	}

	var late <-chan time.Time
	asked := ctx.Done()
	for {
		select {
		case sig := <-signals:
			if !(atTerminal && sig == os.Interrupt) {
				err = errors.Join(err, pass(sig))
			}
			if late == nil {
				late = time.After(farewell)
			}
		case <-asked:
			asked = nil
			if late == nil { // else a signal told it already
				err = errors.Join(err, pass(syscall.SIGTERM))
				late = time.After(farewell)
			}
		case <-late:
			err = errors.Join(err, end())
		case waited := <-ended:
			if !atTerminal {
				err = errors.Join(err, end()) // what it left behind
			}
			return exitCode(cmd.ProcessState), errors.Join(err, notAnExit(waited))
		}
	}
}

// exitCode is the shell's: 128 + n for a command that died of signal n.
func exitCode(state *os.ProcessState) int {
	if state.ExitCode() >= 0 {
		return state.ExitCode()
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return 1
}

// notAnExit drops the error that only says that the code was not 0.
func notAnExit(err error) error {
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return nil
	}
	return err
}
