package outbox

import (
	"errors"
	"fmt"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// lockTimeout bounds every wait for a file lock; bbolt's zero waits for ever.
const lockTimeout = 2 * time.Second

// CheckFile reads a whole outbox file and wraps ErrDamaged if it can not be
// trusted. It changes nothing.
//
// Faults are caught as panics only on this goroutine, while bbolt's own check
// runs on another. So every page is first walked here: what would fault there
// has then panicked here. A child process (CheckInChild) needs no such care, and
// gives back the memory the check took; it is what the agent uses.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("outbox: check: %w", err)
	}
	return guard(func() error {
		db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: lockTimeout})
		if err != nil {
			return openError(err)
		}
		defer db.Close()
		return db.View(func(tx *bolt.Tx) error {
			if tx.Size() > info.Size() {
				return fmt.Errorf("%w: %d bytes of a file that had %d", ErrDamaged, info.Size(), tx.Size())
			}
			if err := walk(tx); err != nil {
				return err
			}
			if err := structure(tx); err != nil {
				return fmt.Errorf("%w: %v", ErrDamaged, err)
			}
			if _, err := readMeta(tx); err != nil {
				return fmt.Errorf("%w: %v", ErrDamaged, err)
			}
			return nil
		})
	})
}

// structure drains bbolt's check, which must not be left half way, and returns
// the first thing it found.
func structure(tx *bolt.Tx) (first error) {
	for err := range tx.Check() {
		if first == nil {
			first = err
		}
	}
	return first
}

// walk reads from every page that holds data, values that span pages included.
func walk(tx *bolt.Tx) error {
	var sum byte
	touch := func(b []byte) {
		for i := 0; i < len(b); i += 512 {
			sum ^= b[i]
		}
	}
	return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			touch(k)
			touch(v)
			return nil
		})
	})
}

// openError tells damage from a file that is merely in use or out of reach.
func openError(err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return ErrLocked
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist), outOfSpace(err):
		return fmt.Errorf("outbox: open: %w", err)
	}
	return fmt.Errorf("%w: %v", ErrDamaged, err)
}
