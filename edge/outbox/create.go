package outbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// create makes a new epoch: a whole file under a passing name, then the rename.
//
// Promised: a file named outbox.db is complete. Dying right before the rename
// leaves a file that the next Open removes; dying right after leaves an epoch
// nobody has heard of yet, which the next Open simply uses.
func (o *Outbox) create() error {
	epoch, err := o.opt.Mint.V4()
	if err != nil {
		return err
	}
	// A damaged file lying here is an epoch the cloud will not hear the end of.
	// Asking the folder, and not this process, survives dying in between.
	aside, err := filepath.Glob(o.path + damagedMark + "*")
	if err != nil {
		return err
	}
	fresh := o.path + ".new"
	db, err := bolt.Open(fresh, 0o600, &bolt.Options{Timeout: lockTimeout, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if err := makeBuckets(tx); err != nil {
			return err
		}
		return writeMeta(tx, meta{Schema: fileSchema, Epoch: epoch, Gap: len(aside) > 0})
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := o.opt.Hook.before(StepCreate); err != nil {
		return err
	}
	if err := os.Rename(fresh, o.path); err != nil {
		return err
	}
	if err := syncDir(o.opt.Dir); err != nil {
		return err
	}
	o.opt.Hook.after(StepCreate)
	return nil
}

func makeBuckets(tx *bolt.Tx) error {
	names := [][]byte{bucketMeta(), bucketRows(), bucketIDs(), bucketDone(), bucketParked()}
	for _, b := range books() {
		names = append(names, []byte(b))
	}
	for _, name := range names {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return fmt.Errorf("bucket %s: %w", name, err)
		}
	}
	return nil
}
