package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"vendline/edge/ident"
	"vendline/shared/group"
)

// Errors of Append and Open. Each says that nothing was promised.
var (
	ErrConflict = errors.New("outbox: the id was used for something else")
	ErrFull     = errors.New("outbox: full")
	ErrTooLarge = errors.New("outbox: larger than a message may be")
	ErrLocked   = errors.New("outbox: another process has it open")
	ErrDamaged  = errors.New("outbox: the file is damaged")
	ErrUpto     = errors.New("outbox: upto names an event that has not happened yet")
)

// Options of an outbox. Dir is required; the zero value of the rest is usable.
type Options struct {
	Dir     string // folder of outbox.db; made if missing
	MaxSize int64  // bytes the file may take; 0 means 256 MiB
	History int    // answers kept for late questions; 0 means 10,000

	Cabinet string                                       // for the size check of an encoded event
	Check   func(ctx context.Context, path string) error // nil means CheckFile, in this process
	Free    func(dir string) (uint64, error)             // bytes free on the disk; nil asks the system
	Mint    *ident.Mint                                  // names of epochs; nil means real randomness
	Now     func() time.Time                             // wall clock, for the name of a set-aside file only
	Mono    func() time.Duration                         // monotonic; nil means since Open
	Hook    Hook                                         // tests only
	Log     *slog.Logger                                 // nil discards
}

// Outbox is an open message table. Safe for concurrent use.
type Outbox struct {
	opt     Options
	path    string
	epoch   string
	gap     bool
	aside   string // the file that Open set aside, if it did
	run     string // names this process among those that wrote answers
	unlock  func() error
	trips   *group.Group[op]
	arrived chan struct{} // one token: rows were appended

	swap sync.RWMutex // held shared to use db, alone to replace it
	db   *bolt.DB

	depth    atomic.Int64
	parked   atomic.Int64
	reserved atomic.Int64 // bytes set apart for reports to come
	broken   atomic.Pointer[error]
	breaks   chan struct{} // closed with broken

	watch watchers
	ages  ages
	churn atomic.Int64 // rows read since touched pages were last let go
}

// Epoch names this incarnation of the outbox; seqs count within it.
func (o *Outbox) Epoch() string { return o.epoch }

// Gap reports whether this epoch began because an earlier file was damaged.
func (o *Outbox) Gap() bool { return o.gap }

// Arrived receives a token after rows were appended. One reader.
func (o *Outbox) Arrived() <-chan struct{} { return o.arrived }

// Broken is closed when the open file turned out to be damaged. Nothing can be
// promised any more: the process should end, and the next Open sets it aside.
func (o *Outbox) Broken() <-chan struct{} { return o.breaks }

// Err is the damage behind Broken, or nil.
func (o *Outbox) Err() error {
	if p := o.broken.Load(); p != nil {
		return *p
	}
	return nil
}

// Depth is how many rows wait for the cloud's answer.
func (o *Outbox) Depth() int64 { return o.depth.Load() }

// Parked is how many rows were parked in this epoch.
func (o *Outbox) Parked() int64 { return o.parked.Load() }

// SetAside is the path of the damaged file this Open set aside, or "".
func (o *Outbox) SetAside() string { return o.aside }

// Close carries out what is waiting, and releases the file.
func (o *Outbox) Close() error {
	o.trips.Close()
	o.swap.Lock()
	defer o.swap.Unlock()
	err := o.db.Close()
	if e := o.unlock(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("outbox: close: %w", err)
	}
	return nil
}

// view reads under a read transaction. Nothing slow may happen inside it.
func (o *Outbox) view(fn func(tx *bolt.Tx) error) error {
	o.swap.RLock()
	defer o.swap.RUnlock()
	err := guard(func() error { return o.db.View(fn) })
	o.note(err)
	return err
}

// note remembers damage that was found while the file was in use.
func (o *Outbox) note(err error) {
	if err == nil || !errors.Is(err, ErrDamaged) {
		return
	}
	if o.broken.CompareAndSwap(nil, &err) {
		o.opt.Log.Error("outbox is damaged; restart to set it aside", "path", o.path, "err", err)
		close(o.breaks)
	}
}
