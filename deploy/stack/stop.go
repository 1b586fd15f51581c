package stack

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// Stop ends everything in good order, the last added first, the servers last
// and together. The data stays for the next Start in the same folder.
func (s *Stack) Stop() error {
	var errs []error
	s.mu.Lock()
	extra := s.extra
	s.mu.Unlock()
	for i := len(extra) - 1; i >= 0; i-- {
		errs = append(errs, extra[i].Stop())
	}
	return errors.Join(append(errs, s.every((*Server).Stop))...)
}

// Kill kills everything at once.
func (s *Stack) Kill() error { return s.every((*Server).Kill) }

// Discard kills everything and removes volumes and folder, logs included.
func (s *Stack) Discard() error {
	return errors.Join(s.Kill(), s.volumes.unmount(), os.RemoveAll(s.Dir))
}

// KeepLogs removes what a stack that is down left in dir, but for its logs.
func KeepLogs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if entry.Name() != logFolder {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	// Both stay when they hold something.
	_ = os.Remove(filepath.Join(dir, logFolder))
	_ = os.Remove(dir)
	return errors.Join(errs...)
}

// every does the same to all servers at once.
func (s *Stack) every(do func(*Server) error) error {
	var all errgroup.Group
	for _, server := range s.Servers() {
		all.Go(func() error { return do(server) })
	}
	return all.Wait()
}
