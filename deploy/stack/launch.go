package stack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// launch starts the program with its output appended to its log.
func (s *Server) launch() (*incarnation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		select {
		case <-s.run.done:
		default:
			return nil, fmt.Errorf("stack: %s already runs, pid %d", s.process.Name, s.run.pid)
		}
	}
	logFile, err := os.OpenFile(s.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("stack: log of %s: %w", s.process.Name, err)
	}
	defer logFile.Close()
	size, err := logFile.Seek(0, 2)
	if err != nil {
		return nil, fmt.Errorf("stack: log of %s: %w", s.process.Name, err)
	}
	cmd := exec.Command(s.process.Program, s.process.Args...)
	cmd.Dir = s.process.Dir
	cmd.Env = append(os.Environ(), s.process.Env...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = processGroup(s.outlive)

	started, ended := startAndWait(cmd)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("stack: start %s: %w", s.process.Name, err)
	}
	run := &incarnation{pid: cmd.Process.Pid, logFrom: size, done: make(chan struct{})}
	go func() {
		run.err = <-ended
		close(run.done)
	}()
	s.run = run
	if err := s.record(s.recordOf(run)); err != nil {
		killErr := killGroup(run.pid)
		<-run.done
		return nil, errors.Join(fmt.Errorf("stack: record %s: %w", s.process.Name, err), killErr)
	}
	return run, nil
}

// startAndWait starts a command and waits for it, on a thread that does nothing
// else: the kernel kills a child with the thread that started it. The thread is
// never unlocked, so it ends with its goroutine, after the child.
func startAndWait(cmd *exec.Cmd) (started, ended <-chan error) {
	start, end := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		start <- err
		if err == nil {
			end <- cmd.Wait()
		}
	}()
	return start, end
}

// recordOf describes a run for stack.json.
func (s *Server) recordOf(run *incarnation) Record {
	_, started, _ := identity(run.pid)
	return Record{
		Name: s.process.Name, Addr: s.process.Addr, PID: run.pid, Started: started,
		Args: append([]string{s.process.Program}, s.process.Args...),
		Log:  s.logPath, Extra: s.extra, GraceSeconds: s.process.grace().Seconds(),
	}
}

// died explains an exit that nobody asked for.
func (s *Server) died(run *incarnation) error {
	err := fmt.Errorf("stack: %s ended at once: %v%s", s.process.Name, run.err, s.tail(run))
	if strings.Contains(strings.ToLower(string(logSince(s.logPath, run.logFrom))), "already in use") {
		return fmt.Errorf("%w (%s): %w", errPortTaken, s.process.Addr, err)
	}
	return err
}

// tail quotes the last lines that this run wrote.
func (s *Server) tail(run *incarnation) string {
	return fmt.Sprintf("\n  the end of %s:\n%s", s.logPath, lastLines(logSince(s.logPath, run.logFrom), 15))
}
