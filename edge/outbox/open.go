package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"

	"vendline/edge/ident"
	"vendline/shared/group"
)

const (
	fileName    = "outbox.db"
	damagedMark = ".damaged-"
)

// Open locks, checks and opens the outbox in opt.Dir, making what is missing.
//
// A damaged file never stops a cabinet: it is renamed aside, whole, for an
// engineer to look at; a new epoch begins, and Gap tells the cloud.
func Open(ctx context.Context, opt Options) (*Outbox, error) {
	if err := opt.fill(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(opt.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("outbox: make folder: %w", err)
	}
	unlock, err := lock(filepath.Join(opt.Dir, "outbox.lock"))
	if err != nil {
		return nil, err
	}
	o := &Outbox{opt: opt, path: filepath.Join(opt.Dir, fileName), unlock: unlock,
		arrived: make(chan struct{}, 1), breaks: make(chan struct{})}
	if err := o.open(ctx); err != nil {
		return nil, errors.Join(err, unlock())
	}
	o.trips = group.New(group.Options{}, o.trip)
	return o, nil
}

func (opt *Options) fill() error {
	if opt.MaxSize == 0 {
		opt.MaxSize = 256 << 20
	}
	if opt.MaxSize < minMaxSize {
		return fmt.Errorf("outbox: a file of %d bytes is too small to be of use, at least %d", opt.MaxSize, minMaxSize)
	}
	// bbolt maps the file in powers of two up to 1 GiB, and a 32-bit process has
	// 2 GiB of addresses or less for everything.
	if strconv.IntSize == 32 && opt.MaxSize > 1<<30 {
		return fmt.Errorf("outbox: a file of %d bytes can not be mapped on a 32-bit machine, at most %d", opt.MaxSize, 1<<30)
	}
	if opt.History <= 0 {
		opt.History = 10_000
	}
	if opt.Check == nil {
		opt.Check = func(_ context.Context, path string) error { return CheckFile(path) }
	}
	if opt.Free == nil {
		opt.Free = freeOn
	}
	if opt.Mint == nil {
		opt.Mint = ident.New(nil, nil)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Mono == nil {
		began := time.Now()
		opt.Mono = func() time.Duration { return time.Since(began) }
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

func (o *Outbox) open(ctx context.Context) (err error) {
	for _, left := range []string{o.path + ".new", o.path + ".compact"} {
		if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("outbox: remove leftover: %w", err)
		}
	}
	if o.run, err = o.opt.Mint.V4(); err != nil {
		return err
	}
	if err := o.inspect(ctx); err != nil {
		return err
	}
	err = o.load()
	if errors.Is(err, ErrDamaged) { // the check let something through
		if err = o.quarantine(err); err == nil {
			err = o.load()
		}
	}
	return err
}

// inspect checks the file, if there is one, and sets it aside when damaged.
func (o *Outbox) inspect(ctx context.Context) error {
	if _, err := os.Stat(o.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := o.opt.Check(ctx, o.path)
	if errors.Is(err, ErrDamaged) {
		return o.quarantine(err)
	}
	return err
}

// quarantine renames the damaged file aside and syncs the folder.
//
// Promised: the bytes are kept. Dying right before leaves the damaged file in
// place, and the next Open finds it again. Dying right after leaves no outbox
// and a file whose name says damaged; that name is how the next Open knows that
// the epoch it creates has a gap.
func (o *Outbox) quarantine(why error) error {
	aside := o.path + damagedMark + o.opt.Now().UTC().Format("20060102T150405.000")
	for n := 2; exists(aside); n++ {
		aside = fmt.Sprintf("%s-%d", aside, n)
	}
	if err := o.opt.Hook.before(StepQuarantine); err != nil {
		return fmt.Errorf("outbox: set damaged file aside: %w", err)
	}
	if err := os.Rename(o.path, aside); err != nil {
		return fmt.Errorf("outbox: set damaged file aside: %w", err)
	}
	if err := syncDir(o.opt.Dir); err != nil {
		return fmt.Errorf("outbox: set damaged file aside: %w", err)
	}
	o.opt.Hook.after(StepQuarantine)
	o.aside = aside
	o.opt.Log.Error("outbox was damaged and is set aside; a new epoch begins", "kept", aside, "why", why)
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// load opens the file, creating it first if there is none, and takes over rows
// of older schemas.
func (o *Outbox) load() error {
	if !exists(o.path) {
		if err := o.create(); err != nil {
			return fmt.Errorf("outbox: create: %w", err)
		}
	}
	if err := o.openDB(); err != nil {
		return err
	}
	err := guard(o.migrate)
	if err == nil {
		err = guard(func() error { return o.db.View(o.remember) })
	}
	if err != nil {
		return errors.Join(err, o.db.Close())
	}
	return nil
}

func (o *Outbox) openDB() error {
	return guard(func() error {
		db, err := bolt.Open(o.path, 0o600, o.boltOptions())
		if err != nil {
			return openError(err)
		}
		db.AllocSize = growth
		o.db = db
		return nil
	})
}

func (o *Outbox) boltOptions() *bolt.Options {
	return &bolt.Options{
		Timeout:      lockTimeout,
		FreelistType: bolt.FreelistMapType,
		MaxSize:      int(o.opt.MaxSize),
		// NoSync stays false: a commit that returned is on the disk.
	}
}

// remember loads what the process keeps in memory about the file.
func (o *Outbox) remember(tx *bolt.Tx) error {
	m, err := readMeta(tx)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	o.epoch, o.gap = m.Epoch, m.Gap
	o.depth.Store(m.Depth)
	o.parked.Store(m.Parked)
	return nil
}
