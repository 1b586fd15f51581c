package outbox

import (
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// op is one caller's wish; a trip carries many of them through one commit.
type op struct {
	entry *Entry // append this, or
	row   []byte //   its encoding
	share Share
	claim claim
	id    [16]byte

	answers []Answer        // store these answers, or
	park    *parking        // park this row, or
	work    func(*Tx) error // write books, as
	step    Step            //   this durable step

	receipt  Receipt // out: of the append
	appended int64   // out: seq of the new row, if one was made
	settled  []string
	after    []func() // to be called once it is on the disk
}

// frees reports whether p makes room rather than taking it.
func (p *op) frees() bool { return p.entry == nil && p.work == nil }

// txn is one transaction in the making.
type txn struct {
	o    *Outbox
	tx   *bolt.Tx
	meta meta
	room room

	rows, ids, done, parked *bolt.Bucket
}

// trip carries ops through one commit, so that a crowd of callers shares one
// fsync. When the commit fails for lack of room, what makes room (answers) is
// tried once more without what takes room (appends).
func (o *Outbox) trip(_ context.Context, ops []*op) []error {
	errs, err := o.commit(ops)
	if err == nil {
		return errs
	}
	var freeing []*op
	for i, p := range ops {
		errs[i] = err
		if p.frees() {
			freeing = append(freeing, p)
		}
	}
	if !errors.Is(err, ErrFull) || len(freeing) == 0 || len(freeing) == len(ops) {
		return errs
	}
	again, err := o.commit(freeing)
	for i, p := range ops {
		if p.frees() {
			if errs[i] = err; err == nil {
				errs[i] = again[0]
			}
			again = again[1:]
		}
	}
	return errs
}

// commit applies ops in one transaction. errs are of single ops, which cost the
// others nothing; err is of the whole.
//
// Promised: when this returns nil, every op without an error of its own is on
// the disk. Dying right before the commit leaves the file as it was: appends
// were never acknowledged to the firmware, answers come again because their rows
// are still there to be resent. Dying right after leaves it all done: the
// firmware asks again under the same id and hears the same receipt, and the
// cloud's repeated answer finds no row and is dropped.
func (o *Outbox) commit(ops []*op) (errs []error, err error) {
	o.swap.RLock()
	defer o.swap.RUnlock()
	errs = make([]error, len(ops))
	var m meta
	err = guard(func() error {
		return o.db.Update(func(tx *bolt.Tx) error {
			t, err := o.begin(tx)
			if err != nil {
				return err
			}
			for i, p := range ops {
				p.settled, p.appended, p.after = nil, 0, nil
				if errs[i], err = t.apply(p); err != nil {
					return err
				}
			}
			m = t.meta
			o.letGo(tx, rowsOf(ops))
			if err := writeMeta(tx, m); err != nil {
				return err
			}
			return o.beforeCommit(ops)
		})
	})
	if err != nil {
		return errs, o.commitError(err)
	}
	o.afterCommit(ops)
	o.depth.Store(m.Depth)
	o.parked.Store(m.Parked)
	o.tell(ops)
	return errs, nil
}

func (o *Outbox) beforeCommit(ops []*op) error {
	for _, p := range ops {
		if p.step != "" {
			if err := o.opt.Hook.before(p.step); err != nil {
				return err
			}
		}
	}
	return o.opt.Hook.before(StepCommit)
}

func (o *Outbox) afterCommit(ops []*op) {
	o.opt.Hook.after(StepCommit)
	for _, p := range ops {
		if p.step != "" {
			o.opt.Hook.after(p.step)
		}
	}
}

// rowsOf counts the rows that ops touch.
func rowsOf(ops []*op) (n int) {
	for _, p := range ops {
		n += max(1, len(p.answers))
	}
	return n
}

func (o *Outbox) begin(tx *bolt.Tx) (*txn, error) {
	m, err := readMeta(tx)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	t := &txn{o: o, tx: tx, meta: m, room: o.room(tx), rows: tx.Bucket(bucketRows()), ids: tx.Bucket(bucketIDs()),
		done: tx.Bucket(bucketDone()), parked: tx.Bucket(bucketParked())}
	if t.rows == nil || t.ids == nil || t.done == nil || t.parked == nil {
		return nil, fmt.Errorf("%w: a bucket is missing", ErrDamaged)
	}
	return t, nil
}

// apply returns an error of p alone, and one that ends the transaction.
func (t *txn) apply(p *op) (own, fatal error) {
	switch {
	case p.entry != nil:
		return t.append(p)
	case p.park != nil:
		return nil, t.park(p)
	case p.work != nil:
		return t.do(p)
	}
	for _, a := range p.answers {
		if err := t.settle(p, a); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// commitError sorts a failed commit. Lack of room passes; after any other
// failure to write or sync nobody knows what the disk holds, and trying again on
// the same open file could report success for pages that were dropped. So the
// outbox declares itself broken, and a restart reads what is really there.
func (o *Outbox) commitError(err error) error {
	if err = fullError(err); errors.Is(err, ErrFull) {
		return err
	}
	if !errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w: commit failed: %w", ErrDamaged, err)
	}
	o.note(err)
	return err
}

// tell lets those know who wait for what was just committed.
func (o *Outbox) tell(ops []*op) {
	appended := int64(0)
	for _, p := range ops {
		appended = max(appended, p.appended)
		for _, fn := range p.after {
			fn()
		}
		for _, id := range p.settled {
			o.watch.fire(id)
		}
	}
	if appended > 0 {
		o.ages.mark(appended, o.opt.Mono())
		select {
		case o.arrived <- struct{}{}:
		default:
		}
	}
}
