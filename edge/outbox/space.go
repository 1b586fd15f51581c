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
// facts, which have already happened, get in a little longer than orders. What
// is reserved (Tx.Reserve) counts as used for both, so that the reports it was
// reserved for always fit.
const (
	growth      = 1 << 20 // bytes the file grows by
	minMaxSize  = 4 << 20
	orderShare  = 80 // percent in use of what MaxSize allows
	factShare   = 90
	ownShare    = 96
	orderOnDisk = 4 << 20 // bytes free on the disk
	factOnDisk  = 2 << 20
	ownOnDisk   = 1 << 20
)

// Share says up to where the outbox may be filled by whom.
type Share byte

// Shares, from the first to be refused to the last.
const (
	ShareOrder Share = iota // what has not happened yet, and shall not if it can not be kept
	ShareFact               // what the firmware says has happened
	ShareOwn                // the agent's reports, for which room was reserved
)

// room is what a transaction found of space when it began.
type room struct {
	used, usable, reserved int64
	free                   int64 // on the disk; negative if nobody can tell
}

// has reports whether share may still grow, with extra bytes set apart.
func (r room) has(share Share, extra int64) bool {
	percent, onDisk, apart := int64(orderShare), int64(orderOnDisk), r.reserved+extra
	switch share {
	case ShareFact:
		percent, onDisk = factShare, factOnDisk
	case ShareOwn:
		percent, onDisk, apart = ownShare, ownOnDisk, extra
	}
	if r.free >= 0 && r.free-apart < onDisk { // not knowing is no reason to stop selling
		return false
	}
	return (r.used+apart)*100 < r.usable*percent
}

func shareOf(k Kind) Share {
	if k == KindFact {
		return ShareFact
	}
	return ShareOrder
}

func (o *Outbox) room(tx *bolt.Tx) room {
	r := room{used: o.used(tx), usable: o.opt.MaxSize - growth, reserved: o.reserved.Load(), free: -1} // bbolt asks for the next growth in advance
	if free, err := o.opt.Free(o.opt.Dir); err == nil {
		r.free = int64(min(free, 1<<62))
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

// Reserved is the bytes set apart for reports to come.
func (o *Outbox) Reserved() int64 { return o.reserved.Load() }
