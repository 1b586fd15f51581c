package outbox

import (
	"errors"
	"fmt"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	compactFrom  = 4 << 20 // smaller files are left alone
	compactDepth = 1000    // with more rows waiting there is better work to do
	compactTx    = 1 << 20 // bytes a transaction, so that memory stays flat
)

// Tidy compacts the file if it is mostly free and little waits in it; it reports
// whether it did. Appends wait meanwhile. bbolt never gives space back itself.
func (o *Outbox) Tidy() (bool, error) {
	if o.Depth() > compactDepth || o.Size() < compactFrom {
		return false, nil
	}
	o.swap.Lock()
	defer o.swap.Unlock()
	var used int64
	if err := guard(func() error { return o.db.View(func(tx *bolt.Tx) error { used = o.used(tx); return nil }) }); err != nil {
		o.note(err)
		return false, err
	}
	if used*2 > o.Size() {
		return false, nil
	}
	began := time.Now()
	before := o.Size()
	if err := o.compact(); err != nil {
		o.note(err)
		return false, fmt.Errorf("outbox: compact: %w", err)
	}
	o.opt.Log.Info("outbox compacted", "before", before, "after", o.Size(), "took", time.Since(began))
	return true, nil
}

// compact copies the file into a new one, syncs it, and gives it the name.
//
// Promised: the name always belongs to a complete file, and no append is
// accepted into the new one before the folder is synced, so a power cut can not
// bring the old file back without it. Dying right before the rename leaves the
// old file in use and a copy that the next Open removes; dying right after
// leaves one of two files with the same content.
func (o *Outbox) compact() error {
	copied := o.path + ".compact"
	if err := o.copyTo(copied); err != nil {
		return errors.Join(err, os.Remove(copied)) // the old file is untouched and still open
	}
	if err := o.db.Close(); err != nil {
		return fmt.Errorf("%w: close: %w", ErrDamaged, err)
	}
	err := o.rename(copied)
	if e := o.openDB(); e != nil { // whichever file has the name
		return fmt.Errorf("%w: reopen: %w", ErrDamaged, e)
	}
	return err
}

func (o *Outbox) copyTo(path string) error {
	return guard(func() error {
		dst, err := bolt.Open(path, 0o600, o.boltOptions())
		if err != nil {
			return err
		}
		dst.AllocSize = growth
		return errors.Join(bolt.Compact(dst, o.db, compactTx), dst.Sync(), dst.Close())
	})
}

func (o *Outbox) rename(copied string) error {
	if err := o.opt.Hook.before(StepCompact); err != nil {
		return err
	}
	if err := os.Rename(copied, o.path); err != nil {
		return err
	}
	if err := syncDir(o.opt.Dir); err != nil {
		// Which file the name belongs to after a power cut is unknown: do not go on.
		return fmt.Errorf("%w: sync folder: %w", ErrDamaged, err)
	}
	o.opt.Hook.after(StepCompact)
	return nil
}
