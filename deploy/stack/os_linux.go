package stack

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// processGroup puts a child into a process group of its own, so that signals
// reach it and its children and nobody else. Unless it may outlive us, the
// kernel kills it when the thread that started it ends.
func processGroup(outlive bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if !outlive {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}

// signalGroup signals the process group led by pid; a group that is gone is no error.
func signalGroup(pid int, to os.Signal) error {
	sig, ok := to.(syscall.Signal)
	if !ok {
		return fmt.Errorf("stack: %v is no signal of this system", to)
	}
	if pid <= 1 {
		return fmt.Errorf("stack: refuse to signal process group %d", pid)
	}
	if err := syscall.Kill(-pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stack: signal %v to process group %d: %w", sig, pid, err)
	}
	return nil
}

func pauseGroup(pid int) error  { return signalGroup(pid, syscall.SIGSTOP) }
func resumeGroup(pid int) error { return signalGroup(pid, syscall.SIGCONT) }
func killGroup(pid int) error   { return signalGroup(pid, syscall.SIGKILL) }

// reloadGroup asks a server to read its configuration again.
func reloadGroup(pid int) error { return signalGroup(pid, syscall.SIGHUP) }

// endGroup asks a group to end; one that is paused must wake to hear it.
func endGroup(pid int) error {
	return errors.Join(signalGroup(pid, syscall.SIGTERM), resumeGroup(pid))
}

// identity names one incarnation of a process: its command line and the tick
// of its start, so that a recycled pid is never taken for ours. Zombies and
// processes that are gone have none.
func identity(pid int) (args []string, started string, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, "", err
	}
	// The second field is the program's name in brackets and may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return nil, "", os.ErrNotExist
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, "", err
	}
	return strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00"), fields[19], nil
}

// lock takes an exclusive lock on a file, across processes, for at most a
// minute; unlock gives it back.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(end) {
			f.Close()
			return nil, fmt.Errorf("stack: lock %s (held by another process?): %w", path, err)
		}
	}
}
