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
	p := new(op)
	if err := o.prepare(p, e); err != nil {
		return Receipt{}, fmt.Errorf("outbox: append: %w", err)
	}
	if err := o.trips.Do(ctx, p); err != nil {
		return Receipt{}, fmt.Errorf("outbox: append: %w", err)
	}
	return p.receipt, nil
}

// prepare encodes e outside of any transaction.
func (o *Outbox) prepare(p *op, e Entry) (err error) {
	if (e.Order == nil) == (e.Fact == nil) {
		return fmt.Errorf("exactly one of order and fact")
	}
	if p.row, err = encodeRow(e); err != nil {
		return err
	}
	if n := len(wire.Encode(o.Event(Row{Seq: 1 << 62, Entry: e}))); n > wire.MaxMessage-maxUpto {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, n, wire.MaxMessage)
	}
	id, _ := ident.Parse(e.ID) // encodeRow has checked it
	p.entry, p.share, p.id, p.claim = &e, shareOf(e.kind()), id, claim{hash: fingerprint(e)}
	return nil
}

// maxUpto is what filling in upto may add to a message.
const maxUpto = len(`,"upto":9223372036854775807`)

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
	if !t.room.has(p.share, 0) {
		return ErrFull, nil
	}
	if f := p.entry.Fact; f != nil && f.Upto > int64(t.rows.Sequence()) {
		return ErrUpto, nil
	}
	n, err := t.rows.NextSequence()
	if err != nil {
		return nil, err
	}
	p.claim.seq = int64(n)
	row, err := p.rowAt(p.claim.seq)
	if err != nil {
		return nil, err
	}
	t.rows.FillPercent = 0.95 // seqs only grow: split pages would stay half empty
	if err := t.rows.Put(key(p.claim.seq), row); err != nil {
		return nil, fmt.Errorf("put row: %w", err)
	}
	if err := t.ids.Put(p.id[:], p.claim.encode()); err != nil {
		return nil, fmt.Errorf("put id: %w", err)
	}
	t.meta.Depth++
	p.receipt = Receipt{ID: p.entry.ID, Epoch: t.meta.Epoch, Seq: p.claim.seq}
	p.appended = p.claim.seq
	return nil, nil
}

// rowAt is the row as it is stored at seq. Counts that do not say which events
// they have seen have seen all before their own; only here is that number known.
func (p *op) rowAt(seq int64) ([]byte, error) {
	f := p.entry.Fact
	if f == nil || len(f.Counts) == 0 || f.Upto > 0 {
		return p.row, nil
	}
	e, counted := *p.entry, *f
	counted.Upto = seq - 1
	e.Fact = &counted
	return encodeRow(e)
}
