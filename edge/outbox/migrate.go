package outbox

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"vendline/edge/ident"
)

// migrateAtOnce bounds the rows rewritten in one transaction, and so its memory.
const migrateAtOnce = 500

// migrate brings a file of an older schema up to date: rows are rewritten and
// their ids claimed, a chunk at a time, and the file's own schema comes last.
//
// Promised: every row of the old file is still there and will be delivered.
// Dying before or after any chunk leaves rows of both schemas, each of which
// says which it is; the next Open goes on, and either could be sent as it is.
func (o *Outbox) migrate() error {
	var m meta
	if err := o.db.View(func(tx *bolt.Tx) (err error) { m, err = readMeta(tx); return err }); err != nil {
		return fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if m.Schema > fileSchema {
		return fmt.Errorf("outbox: %s has file schema %d; this build knows %d and would lose what is newer", o.path, m.Schema, fileSchema)
	}
	if m.Schema == fileSchema {
		return nil
	}
	if err := o.db.Update(makeBuckets); err != nil {
		return fmt.Errorf("outbox: migrate: %w", err)
	}
	if m.Schema == 0 {
		if err := o.migrateRows(); err != nil {
			return err
		}
	}
	if err := o.db.Update(func(tx *bolt.Tx) error { return o.upgrade(tx, m) }); err != nil {
		return fmt.Errorf("outbox: migrate from file schema %d: %w", m.Schema, err)
	}
	o.opt.Hook.after(StepUpgrade)
	return nil
}

// upgrade gives the file its new schema, as the last thing. Dying before it
// leaves a file that is migrated once more, to the same end; dying after, one
// that is done.
func (o *Outbox) upgrade(tx *bolt.Tx, m meta) error {
	if rows := tx.Bucket(bucketRows()); m.Schema == 0 {
		m.Depth = int64(rows.Stats().KeyN)
		if last, _ := rows.Cursor().Last(); last != nil && number(last) > int64(rows.Sequence()) {
			if err := rows.SetSequence(uint64(number(last))); err != nil {
				return err
			}
		}
	}
	m.Schema = fileSchema
	if err := writeMeta(tx, m); err != nil {
		return err
	}
	return o.opt.Hook.before(StepUpgrade)
}

// migrateRows rewrites the rows of schema 0, a chunk at a time.
func (o *Outbox) migrateRows() error {
	for after := int64(0); ; {
		next, err := o.migrateChunk(after)
		if err != nil {
			return fmt.Errorf("outbox: migrate rows after %d: %w", after, err)
		}
		if next == after {
			return nil
		}
		after = next
	}
}

func (o *Outbox) migrateChunk(after int64) (last int64, err error) {
	last = after
	err = o.db.Update(func(tx *bolt.Tx) error {
		rows, ids := tx.Bucket(bucketRows()), tx.Bucket(bucketIDs())
		var chunk []Row
		c := rows.Cursor()
		for k, v := c.Seek(key(after + 1)); k != nil && len(chunk) < migrateAtOnce; k, v = c.Next() {
			last = number(k)
			chunk = append(chunk, decodeRow(last, v))
		}
		for _, r := range chunk {
			if r.Bad != nil {
				continue // parked by the uplink when its turn comes
			}
			v, err := encodeRow(r.Entry)
			if err != nil {
				return err
			}
			if err := rows.Put(key(r.Seq), v); err != nil {
				return err
			}
			id, _ := ident.Parse(r.ID)
			if err := ids.Put(id[:], claim{hash: fingerprint(r.Entry), seq: r.Seq}.encode()); err != nil {
				return err
			}
		}
		if len(chunk) == 0 {
			return nil
		}
		return o.opt.Hook.before(StepMigrate)
	})
	if err == nil && last != after {
		o.opt.Hook.after(StepMigrate)
	}
	return last, err
}
