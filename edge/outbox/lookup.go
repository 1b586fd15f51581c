package outbox

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"vendline/edge/ident"
	"vendline/shared/wire"
)

// Lookup tells what became of an id. ErrUnknown if it was never appended here,
// or is older than the history.
func (o *Outbox) Lookup(id string) (f Found, err error) {
	raw, ok := ident.Parse(id)
	if !ok {
		return f, ErrUnknown
	}
	err = o.view(func(tx *bolt.Tx) error {
		v := tx.Bucket(bucketIDs()).Get(raw[:])
		if v == nil {
			return ErrUnknown
		}
		c, err := decodeClaim(v)
		if err != nil {
			return fmt.Errorf("%w: %v", ErrDamaged, err)
		}
		f.Receipt = Receipt{ID: id, Epoch: o.epoch, Seq: c.seq}
		return o.answerTo(tx, c, &f)
	})
	return f, err
}

func (o *Outbox) answerTo(tx *bolt.Tx, c claim, f *Found) error {
	if c.done > 0 {
		v := tx.Bucket(bucketDone()).Get(key(c.done))
		if v == nil {
			return ErrUnknown
		}
		_, a, err := o.decodeAnswered(v)
		if err != nil {
			return fmt.Errorf("outbox: lookup %s: %w", f.ID, err)
		}
		f.Settled, f.Outcome = true, a.Outcome
		return nil
	}
	if v := tx.Bucket(bucketRows()).Get(key(c.seq)); v != nil {
		f.Outcome.Kind = decodeRow(c.seq, v).Kind()
		return nil
	}
	// The row could not be read any more and was parked without its id.
	f.Settled = true
	f.Outcome = Outcome{Kind: KindOrder, Code: wire.CodeInternal, Detail: "the stored row became unreadable"}
	if v := tx.Bucket(bucketParked()).Get(key(c.seq)); v != nil {
		if t, err := decodeTombstone(v); err == nil {
			f.Outcome.Code, f.Outcome.Detail = t.Code, t.Reason
		}
	}
	return nil
}
