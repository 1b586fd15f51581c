package outbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"vendline/shared/wire"
)

// Bucket names are functions so that no package-level slice can be changed.
func bucketMeta() []byte   { return []byte("meta") }
func bucketRows() []byte   { return []byte("rows") }
func bucketIDs() []byte    { return []byte("ids") }
func bucketDone() []byte   { return []byte("done") }
func bucketParked() []byte { return []byte("parked") }

// Book names a bucket that rules of their own keep beside the rows, so that what
// they decide and the event that tells it are one commit. Values are sealed.
type Book string

// The books of a file, since schema 2.
const (
	BookCommands  Book = "commands"  // command id → its journal entry
	BookFinished  Book = "finished"  // number → id of a command that is done, oldest first
	BookAllowance Book = "allowance" // what may be sold offline, and what was
	BookPlanogram Book = "planogram" // slots and prices in force
)

func books() []Book { return []Book{BookCommands, BookFinished, BookAllowance, BookPlanogram} }

func keyMeta() []byte { return []byte("state") }

// meta is what a file knows about itself. It is rewritten by every transaction,
// which costs nothing: it shares the root page that every commit writes anyway.
type meta struct {
	Schema int    `json:"schema"` // of the file: 1 has ids, done and parked; 2 has books
	Epoch  string `json:"epoch"`
	Gap    bool   `json:"gap"`    // an earlier file was damaged and set aside
	Depth  int64  `json:"depth"`  // rows waiting
	Parked int64  `json:"parked"` // rows parked since the epoch began
}

const fileSchema = 2

func readMeta(tx *bolt.Tx) (m meta, err error) {
	b := tx.Bucket(bucketMeta())
	if b == nil {
		return m, errors.New("no meta bucket")
	}
	if v := b.Get(keyMeta()); v != nil {
		raw, err := unseal(v)
		if err != nil {
			return m, fmt.Errorf("meta: %w", err)
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return m, fmt.Errorf("meta: %w", err)
		}
	} else {
		m.Epoch = string(b.Get([]byte("epoch"))) // schema 0 kept the epoch alone
	}
	if !wire.ValidID(m.Epoch) {
		return m, fmt.Errorf("meta: epoch %q is not a UUID", m.Epoch)
	}
	return m, nil
}

func writeMeta(tx *bolt.Tx, m meta) error {
	b, err := tx.CreateBucketIfNotExists(bucketMeta())
	if err != nil {
		return err
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return b.Put(keyMeta(), seal(raw))
}

func key(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func number(k []byte) int64 { return int64(binary.BigEndian.Uint64(k)) }

// claim is the value of ids: who asked for what under an id.
type claim struct {
	hash [16]byte // of kind and body
	seq  int64
	done int64 // key in done; 0 while the row waits
}

func (c claim) encode() []byte {
	b := make([]byte, 0, 32)
	b = append(b, c.hash[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.seq))
	return binary.BigEndian.AppendUint64(b, uint64(c.done))
}

func decodeClaim(v []byte) (claim, error) {
	if len(v) != 32 {
		return claim{}, fmt.Errorf("claim of %d bytes", len(v))
	}
	return claim{hash: [16]byte(v[:16]), seq: number(v[16:24]), done: number(v[24:32])}, nil
}
