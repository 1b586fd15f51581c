package outbox

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// A bbolt file needs free pages to delete with, and so does a disk. New rows are
// therefore refused while there is still room to answer and delete the old ones;
// facts, which have already happened, get in a little longer than orders.
const (
	growth      = 1 << 20 // bytes the file grows by
	minMaxSize  = 4 << 20
	orderShare  = 80 // percent in use of what MaxSize allows
	factShare   = 90
	orderOnDisk = 4 << 20 // bytes free on the disk
	factOnDisk  = 2 << 20
)

// room says what may still be appended.
type room struct{ order, fact bool }

func (r room) has(k Kind) bool {
	if k == KindFact {
		return r.fact
	}
	return r.order
}

func (o *Outbox) room(tx *bolt.Tx) room {
	used, usable := o.used(tx), o.opt.MaxSize-growth // bbolt asks for the next growth in advance
	r := room{order: used*100 < usable*orderShare, fact: used*100 < usable*factShare}
	if free, err := o.opt.Free(o.opt.Dir); err == nil { // not knowing is no reason to stop selling
		r.order = r.order && free >= orderOnDisk
		r.fact = r.fact && free >= factOnDisk
	}
	return r
}

// used is the bytes of pages that hold something.
func (o *Outbox) used(tx *bolt.Tx) int64 {
	s := o.db.Stats()
	return tx.Size() - int64(s.FreePageN+s.PendingPageN)*int64(o.db.Info().PageSize)
}

// fullError gives every way of running out of room one name. bbolt loses the
// system's error on one path and keeps only its words.
func fullError(err error) error {
	if outOfSpace(err) || errors.Is(err, berrors.ErrMaxSizeReached) || strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		return fmt.Errorf("%w: %v", ErrFull, err)
	}
	return err
}

// Size is the bytes the file takes on disk, free pages included.
func (o *Outbox) Size() int64 {
	info, err := os.Stat(o.path)
	if err != nil {
		return 0
	}
	return info.Size()
}
