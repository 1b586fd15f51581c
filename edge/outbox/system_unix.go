//go:build unix

package outbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// outOfSpace reports whether a write failed for lack of room, by any name.
func outOfSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// killed reports whether a child was ended from outside (out of memory, an
// impatient operator) and not by a fault of its own.
func killed(e *exec.ExitError) bool {
	s, ok := e.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && (s.Signal() == syscall.SIGKILL || s.Signal() == syscall.SIGTERM || s.Signal() == syscall.SIGINT)
}

// lock takes an exclusive lock on a file beside the outbox for as long as the
// outbox is open. bbolt's own lock is on the file that compaction replaces and
// that quarantine renames, so between two names it would guard nothing.
func lock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("outbox: lock: %w", err)
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f.Close, nil // closing lets go of the lock
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("outbox: lock: %w", err)
		}
		if time.Since(began) > lockTimeout {
			f.Close()
			return nil, ErrLocked
		}
	}
}

// freeOn returns the bytes an unprivileged process may still write in dir.
func freeOn(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
