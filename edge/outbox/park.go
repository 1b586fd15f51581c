package outbox

import (
	"context"
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"vendline/shared/wire"
)

// Tombstone is what stays of a row that can not be delivered, so that the rest
// flows and somebody can still see what it was.
type Tombstone struct {
	Seq    int64     `json:"seq"`
	ID     string    `json:"id,omitempty"` // empty if the row could not be read
	Code   wire.Code `json:"code"`
	Reason string    `json:"reason"`
	Bytes  int       `json:"bytes"`         // size of the stored row
	Row    []byte    `json:"row,omitempty"` // its first bytes, as stored
}

const (
	keptTombstones = 1000
	keptBytes      = 8 << 10 // of each parked row
)

type parking struct {
	seq    int64
	code   wire.Code
	reason string
}

// Park takes a row out of the way for good: it is answered with code, and leaves
// a tombstone with the reason.
func (o *Outbox) Park(ctx context.Context, seq int64, code wire.Code, reason string) error {
	if err := o.trips.Do(ctx, &op{park: &parking{seq: seq, code: code, reason: reason}}); err != nil {
		return fmt.Errorf("outbox: park: %w", err)
	}
	return nil
}

func (t *txn) park(p *op) error {
	k := key(p.park.seq)
	v := t.rows.Get(k)
	if v == nil {
		return nil
	}
	row := decodeRow(p.park.seq, v)
	if err := t.entomb(row, v, p.park.code, p.park.reason); err != nil {
		return err
	}
	if row.Bad == nil {
		return t.close(p, row, Outcome{Kind: row.Kind(), Code: p.park.code, Detail: p.park.reason})
	}
	t.meta.Depth--
	return t.rows.Delete(k)
}

func (t *txn) entomb(row Row, v []byte, code wire.Code, reason string) error {
	b, err := json.Marshal(Tombstone{Seq: row.Seq, ID: row.ID, Code: code, Reason: reason, Bytes: len(v), Row: v[:min(len(v), keptBytes)]})
	if err != nil {
		return fmt.Errorf("encode tombstone: %w", err)
	}
	if err := t.parked.Put(key(row.Seq), seal(b)); err != nil {
		return fmt.Errorf("put tombstone: %w", err)
	}
	t.meta.Parked++
	if t.meta.Parked <= keptTombstones {
		return nil
	}
	if first, _ := t.parked.Cursor().First(); first != nil {
		return t.parked.Delete(append([]byte(nil), first...))
	}
	return nil
}

// Tombstones returns the last n tombstones, newest first.
func (o *Outbox) Tombstones(n int) (list []Tombstone, err error) {
	err = o.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketParked()).Cursor()
		for k, v := c.Last(); k != nil && len(list) < n; k, v = c.Prev() {
			t, err := decodeTombstone(v)
			if err != nil {
				t = Tombstone{Seq: number(k), Code: wire.CodeInternal, Reason: "tombstone unreadable: " + err.Error()}
			}
			list = append(list, t)
		}
		return nil
	})
	return list, err
}

func decodeTombstone(v []byte) (t Tombstone, err error) {
	b, err := unseal(v)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(b, &t)
}
