package stack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Server is one process of the stack. It can be ended, killed, paused and
// started again; its data folder and address stay the same throughout.
// Its methods may be called from several goroutines.
type Server struct {
	process Process
	logPath string
	outlive bool
	record  func(Record) error // writes the new incarnation into stack.json
	extra   bool               // added by Stack.Add: stopped before the servers

	mu  sync.Mutex
	run *incarnation
}

// incarnation is one run of the program, from start to exit.
type incarnation struct {
	pid     int
	logFrom int64 // where this run's lines begin in the log
	done    chan struct{}
	err     error // of Wait; read it after done
}

// errPortTaken marks a start that failed because someone else took the port first.
var errPortTaken = errors.New("its port is taken")

// Name is the process's name within the stack.
func (s *Server) Name() string { return s.process.Name }

// Addr is the host:port it serves.
func (s *Server) Addr() string { return s.process.Addr }

// Log is the path of its log file.
func (s *Server) Log() string { return s.logPath }

// PID is the process id, 0 when it is not running.
func (s *Server) PID() int {
	if run := s.running(); run != nil {
		return run.pid
	}
	return 0
}

// Exited is closed when the current run ends, or already closed if there is none.
func (s *Server) Exited() <-chan struct{} {
	if run := s.running(); run != nil {
		return run.done
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}

// Start launches the process and returns when it answers. On an error nothing
// of it is left running, and the error quotes the end of its log.
func (s *Server) Start(ctx context.Context) error {
	run, err := s.launch()
	if err != nil {
		return err
	}
	if err := s.WaitReady(ctx); err != nil {
		return errors.Join(err, s.end(run, killGroup, 0))
	}
	return nil
}

// WaitReady returns nil once the process answers; an error when it exited or
// ctx (or a minute, if ctx has no deadline) ended first.
func (s *Server) WaitReady(ctx context.Context) error {
	run := s.running()
	if run == nil {
		return fmt.Errorf("stack: %s is not running", s.process.Name)
	}
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Minute)
		defer cancel()
	}
	last := errors.New("it was not asked yet")
	for {
		if s.process.Ready != nil {
			try, cancel := context.WithTimeout(ctx, 2*time.Second)
			err := s.process.Ready(try)
			cancel()
			if err == nil {
				return nil
			}
			last = err
		}
		select {
		case <-run.done:
			return s.died(run)
		case <-ctx.Done():
			return fmt.Errorf("stack: %s does not answer: %w (last: %w)%s", s.process.Name, context.Cause(ctx), last, s.tail(run))
		case <-time.After(25 * time.Millisecond):
			if s.process.Ready == nil {
				return nil
			}
		}
	}
}

// Stop asks the process to end, and kills it when its grace is over.
// Stopping one that does not run is no error.
func (s *Server) Stop() error {
	return s.end(s.running(), endGroup, s.process.grace())
}

// Kill ends the process as a power cut would: SIGKILL, no goodbye.
func (s *Server) Kill() error { return s.end(s.running(), killGroup, 0) }

// Pause freezes the process (SIGSTOP): its connections stay open, unanswered.
func (s *Server) Pause() error { return s.signal(pauseGroup) }

// Resume lets a paused process go on.
func (s *Server) Resume() error { return s.signal(resumeGroup) }

// Restart is Stop and Start.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Start(ctx)
}

// Reload asks the process to read its configuration again (SIGHUP).
func (s *Server) Reload() error { return s.signal(reloadGroup) }

func (s *Server) signal(send func(pid int) error) error {
	run := s.running()
	if run == nil {
		return fmt.Errorf("stack: %s is not running", s.process.Name)
	}
	return send(run.pid)
}

// running is the current incarnation, nil when there is none or it has ended.
func (s *Server) running() *incarnation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return nil
	}
	select {
	case <-s.run.done:
		return nil
	default:
		return s.run
	}
}

// end sends one signal, waits, and makes sure: after grace with SIGKILL.
func (s *Server) end(run *incarnation, send func(pid int) error, grace time.Duration) error {
	if run == nil {
		return nil
	}
	if err := send(run.pid); err != nil {
		return err
	}
	if grace > 0 {
		select {
		case <-run.done:
		case <-time.After(grace):
		}
	}
	// The group may outlive its leader: a server's own children.
	if err := killGroup(run.pid); err != nil {
		return err
	}
	<-run.done
	return nil
}
