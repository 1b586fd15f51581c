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
// runs on another. So pages and keys are first walked here: what would fault
// there has then panicked here. Some damage (a tree with a loop in it) can still
// take a process down, and the check's memory stays with the process it ran in;
// so the agent checks in a child (CheckInChild).
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
			if err := pages(tx); err != nil {
				return fmt.Errorf("%w: %v", ErrDamaged, err)
			}
			if err := walk(tx); err != nil {
				return fmt.Errorf("%w: %v", ErrDamaged, err)
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

// pages looks at every page in use for sizes that bbolt's check would believe:
// it marks each page of an overflow, and one flipped bit makes four billion.
func pages(tx *bolt.Tx) error {
	size := tx.DB().Info().PageSize
	end := int(tx.Size()) / size
	for id := 0; id < end; id++ {
		p, err := tx.Page(id)
		if err != nil {
			return err
		}
		if p.Type == "free" {
			continue
		}
		if p.OverflowCount >= end-id || p.Type != "freelist" && p.Count > (p.OverflowCount+1)*size/16 {
			return fmt.Errorf("page %d claims %d items and %d more pages", id, p.Count, p.OverflowCount)
		}
		id += p.OverflowCount
	}
	return nil
}

// walk reads every value whole, and seeks every key, which compares it with the
// keys of the pages above.
func walk(tx *bolt.Tx) error {
	var sum byte
	return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
		if b == nil {
			return fmt.Errorf("%q is not a bucket", name)
		}
		return b.ForEach(func(k, v []byte) error {
			if v == nil {
				return fmt.Errorf("bucket %q holds a bucket", name)
			}
			for i := 0; i < len(v); i += 512 {
				sum ^= v[i]
			}
			if got := b.Get(k); len(got) != len(v) {
				return fmt.Errorf("a key of bucket %q is not where it belongs", name)
			}
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
