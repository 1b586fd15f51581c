package outbox

import (
	"context"
	"crypto/sha256"
	"fmt"

	"vendline/edge/ident"
	"vendline/shared/wire"
)

// Append stores e and returns once it is on the disk: from then on it will reach
// the cloud. The same id with the same body returns the first receipt again and
// adds nothing; with another body it is ErrConflict. ErrFull and ErrTooLarge
// promise nothing and take nothing. When ctx ends first the outcome is unknown,
// and the same id may be appended again.
func (o *Outbox) Append(ctx context.Context, e Entry) (Receipt, error) {
	if (e.Order == nil) == (e.Fact == nil) {
		return Receipt{}, fmt.Errorf("outbox: append: exactly one of order and fact")
	}
	row, err := encodeRow(e)
	if err != nil {
		return Receipt{}, fmt.Errorf("outbox: append: %w", err)
	}
	if n := len(wire.Encode(o.Event(Row{Seq: 1 << 62, Entry: e}))); n > wire.MaxMessage {
		return Receipt{}, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, n, wire.MaxMessage)
	}
	id, _ := ident.Parse(e.ID) // encodeRow has checked it
	p := &op{entry: &e, row: row, id: id, claim: claim{hash: fingerprint(e)}}
	if err := o.trips.Do(ctx, p); err != nil {
		return Receipt{}, fmt.Errorf("outbox: append: %w", err)
	}
	return p.receipt, nil
}

// Event is the message that a row is sent as.
func (o *Outbox) Event(r Row) wire.Event {
	return wire.Event{V: wire.Version, ID: r.ID, Cabinet: o.opt.Cabinet, Epoch: o.epoch, Seq: r.Seq, At: r.At, Order: r.Order, Fact: r.Fact}
}

// fingerprint tells two bodies under one id apart.
func fingerprint(e Entry) [16]byte {
	h := sha256.New()
	h.Write([]byte{byte(e.kind())})
	h.Write(e.body())
	return [16]byte(h.Sum(nil)[:16])
}

func (t *txn) append(p *op) (own, fatal error) {
	if v := t.ids.Get(p.id[:]); v != nil {
		old, err := decodeClaim(v)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
		}
		if old.hash != p.claim.hash {
			return ErrConflict, nil
		}
		p.receipt = Receipt{ID: p.entry.ID, Epoch: t.meta.Epoch, Seq: old.seq}
		return nil, nil
	}
	if !t.room.has(p.entry.kind()) {
		return ErrFull, nil
	}
	n, err := t.rows.NextSequence()
	if err != nil {
		return nil, err
	}
	p.claim.seq = int64(n)
	t.rows.FillPercent = 0.95 // seqs only grow: split pages would stay half empty
	if err := t.rows.Put(key(p.claim.seq), p.row); err != nil {
		return nil, fmt.Errorf("put row: %w", err)
	}
	if err := t.ids.Put(p.id[:], p.claim.encode()); err != nil {
		return nil, fmt.Errorf("put id: %w", err)
	}
	t.meta.Depth++
	p.receipt = Receipt{ID: p.entry.ID, Epoch: t.meta.Epoch, Seq: p.claim.seq}
	p.appended = true
	return nil, nil
}
