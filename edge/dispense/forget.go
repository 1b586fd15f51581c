package dispense

import (
	"encoding/binary"
	"time"

	"vendline/edge/ident"
	"vendline/edge/outbox"
)

// linger is how much longer than its life a command is remembered: longer than
// any ask of ours can take to the cloud. See the package doc.
const linger = time.Hour

// forgetAtOnce bounds the work that one commit does for earlier ones.
const forgetAtOnce = 8

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// forget drops commands up to the one that was finished as the nth, those first
// that were finished first, and stops at one that could still be offered.
func (j *Journal) forget(tx *outbox.Tx, n int64) error {
	type old struct{ key, id []byte }
	var list []old
	now := j.opt.Mono()
	tx.Each(outbox.BookFinished, func(key, id []byte, damage error) bool {
		if len(key) != 8 || int64(binary.BigEndian.Uint64(key)) > n || len(list) == forgetAtOnce {
			return false
		}
		if damage == nil && len(id) == 16 {
			r, known, err := get(tx.Books, ident.Format([16]byte(id)))
			if known && err == nil && !j.unoffered(r, now) {
				return false
			}
		}
		list = append(list, old{append([]byte(nil), key...), append([]byte(nil), id...)})
		return true
	})
	for _, o := range list {
		if err := tx.Delete(outbox.BookCommands, o.id); err != nil {
			return err
		}
		if err := tx.Delete(outbox.BookFinished, o.key); err != nil {
			return err
		}
	}
	return nil
}

// unoffered reports whether no answer can name r any more. One that another
// process finished was finished before this one's clock began.
func (j *Journal) unoffered(r record, now time.Duration) bool {
	since := now
	if r.Run == j.opt.Run {
		since -= r.Finished
	}
	return since > r.Life+linger
}
