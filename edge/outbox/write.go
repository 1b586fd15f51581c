package outbox

import (
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"vendline/edge/ident"
	"vendline/shared/wire"
)

// ErrUnreadable is returned for a value of a book whose bytes changed on disk.
var ErrUnreadable = errors.New("outbox: a stored value can not be read")

// Books reads what rules of their own keep in the file.
type Books struct {
	tx *bolt.Tx
	o  *Outbox
}

// Get returns the value of key, or nil; ErrUnreadable if it was damaged. It is
// valid until the transaction ends.
func (b Books) Get(book Book, key []byte) ([]byte, error) {
	v := b.tx.Bucket([]byte(book)).Get(key)
	if v == nil {
		return nil, nil
	}
	raw, err := unseal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrUnreadable, book, err)
	}
	return raw, nil
}

// Each calls fn with the values of a book, in the order of their keys, until fn
// says that it has seen enough. A damaged value comes with an error. fn must not
// write.
func (b Books) Each(book Book, fn func(key, value []byte, damage error) (more bool)) {
	c := b.tx.Bucket([]byte(book)).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		raw, err := unseal(v)
		if !fn(k, raw, err) {
			return
		}
	}
}

// Len is how many values a book has. It reads all of it.
func (b Books) Len(book Book) int { return b.tx.Bucket([]byte(book)).Stats().KeyN }

// Repeated reports whether e was appended before, under this id with this body;
// ErrConflict if the id stands for something else.
func (b Books) Repeated(e Entry) (r Receipt, yes bool, err error) {
	id, _ := ident.Parse(e.ID)
	v := b.tx.Bucket(bucketIDs()).Get(id[:])
	if v == nil {
		return r, false, nil
	}
	c, err := decodeClaim(v)
	if err != nil {
		return r, false, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if c.hash != fingerprint(e) {
		return r, false, ErrConflict
	}
	return Receipt{ID: e.ID, Epoch: b.o.epoch, Seq: c.seq}, true, nil
}

// Taken reports whether the cloud has accepted event id, or may have: one that
// is neither waiting nor in the history of answers was answered long ago.
func (b Books) Taken(id string) bool {
	raw, _ := ident.Parse(id)
	c, err := decodeClaim(b.tx.Bucket(bucketIDs()).Get(raw[:]))
	if err != nil {
		return true
	}
	if c.done == 0 {
		return false
	}
	_, a, err := b.o.decodeAnswered(b.tx.Bucket(bucketDone()).Get(key(c.done)))
	return err != nil || a.Outcome.Code == wire.Accepted
}

// Read looks at the books, all at one instant. Nothing slow may happen in fn.
func (o *Outbox) Read(fn func(Books) error) error {
	return o.view(func(tx *bolt.Tx) error { return fn(Books{tx, o}) })
}

// Tx writes books and appends events as one commit.
type Tx struct {
	Books
	t     *txn
	p     *op
	wrote bool
}

// Write carries out work in a transaction, shared with whoever appends meanwhile,
// and returns once it is on the disk as the durable step named. work may run
// twice, on its own or after a failed commit; it must find all that is wrong
// before it writes, because an error after a write undoes the whole trip, which
// is others' too, and counts as damage. What is to be known in memory of a
// commit belongs into OnCommit: the caller's ctx may end before its outcome.
func (o *Outbox) Write(ctx context.Context, step Step, work func(*Tx) error) error {
	if err := o.trips.Do(ctx, &op{work: work, step: step}); err != nil {
		return fmt.Errorf("outbox: %s: %w", step, err)
	}
	return nil
}

func (t *txn) do(p *op) (own, fatal error) {
	tx := &Tx{Books: Books{t.tx, t.o}, t: t, p: p}
	err := p.work(tx)
	if err != nil && tx.wrote {
		return nil, err
	}
	if err != nil {
		p.after = nil
	}
	return err, nil
}

// Put stores a value.
func (tx *Tx) Put(book Book, key, value []byte) error {
	tx.wrote = true
	b := tx.tx.Bucket([]byte(book))
	return b.Put(key, seal(append([]byte(nil), value...)))
}

// Delete forgets a value.
func (tx *Tx) Delete(book Book, key []byte) error {
	tx.wrote = true
	return tx.tx.Bucket([]byte(book)).Delete(key)
}

// Next numbers what is added to a book: 1, 2, 3 …
func (tx *Tx) Next(book Book) (int64, error) {
	tx.wrote = true
	n, err := tx.tx.Bucket([]byte(book)).NextSequence()
	return int64(n), err
}

// Append adds an event, as Outbox.Append does, within share. When it returns an
// error it has written nothing.
func (tx *Tx) Append(e Entry, share Share) (Receipt, error) {
	p := new(op)
	if err := tx.t.o.prepare(p, e); err != nil {
		return Receipt{}, err
	}
	p.share = share
	own, fatal := tx.t.append(p)
	if fatal != nil {
		tx.wrote = true
		return Receipt{}, fatal
	}
	if own != nil {
		return Receipt{}, own
	}
	if p.appended > 0 {
		tx.wrote = true
		tx.p.appended = p.appended
	}
	return p.receipt, nil
}

// Room reports whether share has room for so many bytes more.
func (tx *Tx) Room(share Share, bytes int64) bool { return tx.t.room.has(share, bytes) }

// Reserve sets bytes apart from the shares of orders and facts for a report to
// come, or (negative) gives them back, once the transaction is on the disk.
func (tx *Tx) Reserve(bytes int64) {
	tx.OnCommit(func() { tx.t.o.reserved.Add(bytes) })
}

// OnCommit has fn called once the transaction is on the disk, before Write
// returns. fn must not wait for anything.
func (tx *Tx) OnCommit(fn func()) { tx.p.after = append(tx.p.after, fn) }

// Reserve sets bytes apart at start, for what an earlier process left open.
func (o *Outbox) Reserve(bytes int64) { o.reserved.Add(bytes) }
