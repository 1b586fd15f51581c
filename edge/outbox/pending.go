package outbox

import (
	bolt "go.etcd.io/bbolt"
)

// Pending returns up to limit waiting rows with seq > after, in order.
func (o *Outbox) Pending(after int64, limit int) (rows []Row, err error) {
	err = o.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketRows()).Cursor()
		for k, v := c.Seek(key(after + 1)); k != nil && len(rows) < limit; k, v = c.Next() {
			rows = append(rows, decodeRow(number(k), v))
		}
		o.letGo(tx, len(rows))
		return nil
	})
	return rows, err
}

// Row returns the waiting row seq; ok is false when it is settled or parked.
func (o *Outbox) Row(seq int64) (row Row, ok bool, err error) {
	err = o.view(func(tx *bolt.Tx) error {
		v := tx.Bucket(bucketRows()).Get(key(seq))
		if ok = v != nil; ok {
			row = decodeRow(seq, v)
		}
		return nil
	})
	return row, ok, err
}

// oldest returns the lowest waiting seq, or 0.
func (o *Outbox) oldest() (seq int64) {
	_ = o.view(func(tx *bolt.Tx) error {
		if k, _ := tx.Bucket(bucketRows()).Cursor().First(); k != nil {
			seq = number(k)
		}
		return nil
	})
	return seq
}

// letGo counts rows touched and now and then gives their pages back.
func (o *Outbox) letGo(tx *bolt.Tx, rows int) {
	if o.churn.Add(int64(rows)) > releaseEvery {
		o.churn.Store(0)
		release(tx)
	}
}
