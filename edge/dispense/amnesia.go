package dispense

import (
	"context"
	"errors"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// A journal that was lost with a damaged file may have handed out what the cloud
// still offers. An answer names everything that waits, so all that could have
// been handed out before is named by the first answer that is taken afterwards;
// whatever only a later one names did not exist yet. So the commands of that one
// answer are never handed out: they are reported unknown, and the firmware's
// motor log may correct that.

// StepRemember is the durable step that ends the caution.
const StepRemember outbox.Step = "remember"

// keyAnswered marks, among commands, that such an answer was taken.
func keyAnswered() []byte { return []byte("answered") }

func (j *Journal) amnesiac() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lost
}

// disown stores a command as done that an earlier journal may have handed out.
//
// Dying right before leaves nothing, and the next answer names it again, to the
// same end; dying right after leaves the report in the outbox.
func (j *Journal) disown(ctx context.Context, _ ask, v wire.Vend) error {
	return j.box.Write(context.WithoutCancel(ctx), StepAccept, func(tx *outbox.Tx) error {
		if _, known, _ := get(tx.Books, v.ID); known {
			return nil
		}
		r := newRecord(v)
		r.fill(wire.Uncertain, "the cabinet's journal was lost")
		if err := j.report(tx, v.ID, &r); err != nil && !errors.Is(err, outbox.ErrConflict) {
			return err
		}
		return j.finish(tx, v.ID, r)
	})
}

// remember ends the caution. Dying right before it only prolongs it.
func (j *Journal) remember(ctx context.Context) error {
	return j.box.Write(context.WithoutCancel(ctx), StepRemember, func(tx *outbox.Tx) error {
		tx.OnCommit(func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.lost = false
		})
		return tx.Put(outbox.BookCommands, keyAnswered(), nil)
	})
}
