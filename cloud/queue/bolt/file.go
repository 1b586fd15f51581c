package bolt

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Layout: topics / {topic} / msgs    id → message
//
//	delayed due ms, id → message
//	groups  / {group} / id → ""   acknowledged by this group, not yet by all
var (
	bucketTopics  = []byte("topics")
	bucketMsgs    = []byte("msgs")
	bucketDelayed = []byte("delayed")
	bucketGroups  = []byte("groups")
)

// openFile opens path, setting a damaged file aside once.
func openFile(path string, opt Options) (*bbolt.DB, error) {
	db, err := tryOpen(path)
	if err == nil {
		return db, nil
	}
	var damage *damageError
	if !errors.As(err, &damage) {
		return nil, fmt.Errorf("queue/bolt: open %s: %w", path, err)
	}
	aside := fmt.Sprintf("%s.damaged-%d", path, opt.Now().UnixMilli())
	if err := os.Rename(path, aside); err != nil {
		return nil, fmt.Errorf("queue/bolt: set damaged %s aside: %w", path, err)
	}
	opt.Log.Error("queue file was damaged and set aside; a fresh one was started", "path", path, "aside", aside, "err", damage)
	if db, err = tryOpen(path); err != nil {
		return nil, fmt.Errorf("queue/bolt: open fresh %s: %w", path, err)
	}
	return db, nil
}

// damageError says that the file itself, not its lock or folder, is at fault.
type damageError struct{ cause any }

func (e *damageError) Error() string { return fmt.Sprintf("damaged: %v", e.cause) }

// tryOpen opens path and reads all of it once: bbolt finds most damage only
// when it meets it, by an error, a panic, or (in a file cut short) a fault of
// the memory map. The free list is kept in the file, since rebuilding it would
// walk damaged pages in a goroutine of bbolt's where nobody can recover.
func tryOpen(path string) (db *bbolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &damageError{r}
		}
		if err != nil && db != nil {
			err, db = errors.Join(err, db.Close()), nil
		}
	}()
	if info, statErr := os.Stat(path); statErr == nil && info.Size() > 0 && info.Size() < 4*int64(os.Getpagesize()) {
		return nil, &damageError{fmt.Sprintf("%d bytes is less than bbolt ever writes", info.Size())}
	}
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 2 * time.Second, FreelistType: bbolt.FreelistMapType})
	switch {
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return db, &damageError{err}
	case err != nil:
		return db, err
	}
	return db, db.View(check)
}

func check(tx *bbolt.Tx) error {
	info, err := os.Stat(tx.DB().Path())
	if err != nil {
		return err
	}
	if info.Size() < tx.Size() {
		return &damageError{fmt.Sprintf("%d bytes of %d are there", info.Size(), tx.Size())}
	}
	for cause := range tx.Check() {
		err = errors.Join(err, cause)
	}
	if err != nil {
		return &damageError{err}
	}
	return nil
}

// load counts what the file holds.
func (q *Queue) load() error {
	err := q.db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucketTopics)
		return err
	})
	if err != nil {
		return err
	}
	return q.db.View(func(tx *bbolt.Tx) error {
		topics := tx.Bucket(bucketTopics)
		return topics.ForEachBucket(func(name []byte) error {
			b := topics.Bucket(name)
			t := q.topic(string(name))
			c := b.Bucket(bucketMsgs).Cursor()
			for k, _ := c.First(); k != nil; k, _ = c.Next() {
				t.count++
				t.last = keyID(k)
			}
			groups := b.Bucket(bucketGroups)
			return groups.ForEachBucket(func(name []byte) error {
				g := newReaders(q.opt)
				t.groups[string(name)] = g
				return groups.Bucket(name).ForEach(func(_, _ []byte) error {
					g.acked++
					return nil
				})
			})
		})
	})
}

// topic returns the topic's entry; q.mu is held, or the queue is being opened.
func (q *Queue) topic(name string) *topic {
	t, ok := q.topics[name]
	if !ok {
		t = &topic{groups: map[string]*readers{}}
		q.topics[name] = t
	}
	return t
}
