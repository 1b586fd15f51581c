package dispense

import (
	"context"
	"errors"
	"fmt"
	"time"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// Answer takes the cloud's answer to a question of ours and reports whether it
// was one. Commands that are new become ready; what is already known changes
// nothing but its deadline, and that only while it is ready.
//
// Promised by the accepting step: a command is in the journal before it can be
// handed out. Dying right before it leaves nothing; the next answer names the
// command again. Dying right after leaves a ready command without a deadline,
// which waits for the next answer. One that is over on arrival is stored as done
// and reported expired at once; it is never ready, not for a moment.
func (j *Journal) Answer(ctx context.Context, c wire.Command) (bool, error) {
	now := j.opt.Mono()
	q, ok := j.asks.get(c.Ask, now)
	if !ok {
		j.opt.Log.Warn("answer to a question that is not ours or too old; ignored", "ask", c.Ask)
		return false, nil
	}
	var fresh []wire.Vend
	err := j.box.Read(func(b outbox.Books) error {
		for _, v := range c.Dispense {
			if err := validVend(&v); err != nil {
				j.opt.Log.Error("command from the cloud ignored", "id", v.ID, "err", err)
				continue
			}
			if _, known, _ := get(b, v.ID); !known {
				fresh = append(fresh, v)
				continue
			}
			j.refresh(q, v)
		}
		return nil
	})
	if err != nil {
		return true, err
	}
	take := j.accept
	if j.amnesiac() {
		take = j.disown
	}
	var failed []error
	for _, v := range fresh {
		if err := take(ctx, q, v); err != nil {
			failed = append(failed, fmt.Errorf("dispense: accept %s: %w", v.ID, err))
		}
	}
	if len(failed) == 0 && j.amnesiac() {
		failed = append(failed, j.remember(ctx))
	}
	return true, errors.Join(failed...)
}

// refresh moves the deadline of a ready command to what the newest question's
// answer gave it; answers may overtake one another.
func (j *Journal) refresh(q ask, v wire.Vend) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := j.open[v.ID]; s != nil && s.state == Ready && q.number >= s.asked {
		s.asked, s.until = q.number, q.at+life(v)
		j.changed()
	}
}

func life(v wire.Vend) time.Duration { return time.Duration(max(v.ExpiresIn, 0)) * time.Millisecond }

func (j *Journal) accept(ctx context.Context, q ask, v wire.Vend) error {
	return j.box.Write(context.WithoutCancel(ctx), StepAccept, func(tx *outbox.Tx) error {
		if _, known, _ := get(tx.Books, v.ID); known {
			return nil
		}
		r := newRecord(v)
		if j.opt.Mono() >= q.at+life(v) {
			r.fill(wire.Expired, "")
			err := j.report(tx, v.ID, &r)
			if err != nil && !errors.Is(err, outbox.ErrConflict) { // a conflict: reported once, and forgotten since
				return err
			}
			return j.finish(tx, v.ID, r)
		}
		// What could not be reported is not to be vended, so room comes first.
		if !tx.Room(outbox.ShareOrder, r.room()) {
			return outbox.ErrFull
		}
		n, err := tx.Next(outbox.BookCommands)
		if err != nil {
			return err
		}
		r.Number = n
		tx.OnCommit(func() { j.ready(q, v, r) })
		return put(tx, v.ID, r)
	})
}

func (j *Journal) ready(q ask, v wire.Vend, r record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.open[v.ID] = &standing{number: r.Number, state: Ready, asked: q.number, until: q.at + life(v), room: r.room()}
	j.box.Reserve(r.room())
	j.changed()
}
