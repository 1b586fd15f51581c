package outbox

import (
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"vendline/edge/ident"
)

// Settle stores the cloud's answers and deletes their rows in one transaction,
// shared with whoever appends meanwhile. An answer to a row that is gone, or a
// verdict whose id is not the row's, changes nothing. Retryable verdicts are not
// answers: the caller keeps them away from here.
func (o *Outbox) Settle(ctx context.Context, answers []Answer) error {
	if len(answers) == 0 {
		return nil
	}
	if err := o.trips.Do(ctx, &op{answers: answers}); err != nil {
		return fmt.Errorf("outbox: settle: %w", err)
	}
	return nil
}

func (t *txn) settle(p *op, a Answer) error {
	v := t.rows.Get(key(a.Seq))
	if v == nil {
		return nil
	}
	row := decodeRow(a.Seq, v)
	if row.Bad != nil {
		return nil // it was never sent; its parking is on its way
	}
	if a.Verdict != nil && a.Verdict.ID != row.ID && !unreadable(a.Verdict.Code) {
		return nil
	}
	out, park := judge(row, a)
	if park != "" {
		if err := t.entomb(row, v, out.Code, park); err != nil {
			return err
		}
	}
	return t.close(p, row, out)
}

// close stores the answer to a row and deletes the row.
func (t *txn) close(p *op, row Row, out Outcome) error {
	n, err := t.done.NextSequence()
	if err != nil {
		return err
	}
	v, err := t.o.encodeAnswered(row.ID, row.Seq, out)
	if err != nil {
		return err
	}
	t.done.FillPercent = 0.95
	if err := t.done.Put(key(int64(n)), v); err != nil {
		return fmt.Errorf("put answer: %w", err)
	}
	id, _ := ident.Parse(row.ID)            // decodeRow has checked it
	c, err := decodeClaim(t.ids.Get(id[:])) // its hash is of what was asked, which upto is no part of
	if err != nil {
		c.hash = fingerprint(row.Entry)
	}
	c.seq, c.done = row.Seq, int64(n)
	if err := t.ids.Put(id[:], c.encode()); err != nil {
		return fmt.Errorf("put id: %w", err)
	}
	if err := t.rows.Delete(key(row.Seq)); err != nil {
		return fmt.Errorf("delete row: %w", err)
	}
	t.meta.Depth--
	p.settled = append(p.settled, row.ID)
	return t.forget(int64(n) - int64(t.o.opt.History))
}

// forget drops answers up to number n, and their ids. The history is bounded by
// count: the cabinet's clock is not to be trusted with "the last 24 hours".
func (t *txn) forget(n int64) error {
	var old [][]byte
	c := t.done.Cursor()
	for k, _ := c.First(); k != nil && number(k) <= n; k, _ = c.Next() {
		old = append(old, append([]byte(nil), k...))
	}
	for _, k := range old {
		if err := t.forgetOne(k); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) forgetOne(k []byte) error {
	id, _, err := t.o.decodeAnswered(t.done.Get(k))
	if err == nil { // an unreadable answer leaves its id behind, and nothing worse
		if err := dropClaim(t.ids, id, number(k)); err != nil {
			return err
		}
	}
	return t.done.Delete(k)
}

func dropClaim(ids *bolt.Bucket, id [16]byte, done int64) error {
	if c, err := decodeClaim(ids.Get(id[:])); err != nil || c.done != done {
		return nil // the id belongs to a younger row
	}
	return ids.Delete(id[:])
}
