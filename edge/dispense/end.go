package dispense

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// again is how soon an ending is tried again that the outbox could not take.
const again = time.Second

// Run ends commands whose time is over, until ctx ends.
func (j *Journal) Run(ctx context.Context) error {
	for {
		changed := j.Changed()
		wait := j.untilDue()
		if wait <= 0 {
			if err := j.Sweep(ctx); err != nil {
				if errors.Is(err, outbox.ErrDamaged) {
					return err
				}
				j.opt.Log.Error("commands not ended; tried again", "err", err)
				wait = again
			} else {
				continue
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// untilDue is how long no command's time runs out.
func (j *Journal) untilDue() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	wait := time.Hour
	for _, s := range j.open {
		wait = min(wait, s.end()-j.opt.Mono())
	}
	return wait
}

func (s *standing) end() time.Duration {
	if s.state == Ready {
		return s.until
	}
	return s.due
}

// Sweep ends what is over now: commands that nobody took in time have expired,
// and of those that were taken without a word since, nobody knows.
//
// Promised by the ending step: done and reported are one commit. Dying right
// before leaves the command; the next start sweeps again, and an expired one is
// ready without a deadline until then, which is not handed out. Dying right
// after leaves the report in the outbox.
func (j *Journal) Sweep(ctx context.Context) error {
	expired, silent := j.over()
	return errors.Join(j.end(ctx, expired, j.expire), j.end(ctx, silent, j.giveUp))
}

func (j *Journal) over() (expired, silent []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.opt.Mono()
	for id, s := range j.open {
		switch {
		case now < s.end():
		case s.state == Ready:
			expired = append(expired, id)
		default:
			silent = append(silent, id)
		}
	}
	slices.Sort(expired)
	slices.Sort(silent)
	return expired, silent
}

// end ends commands as verdict says, each alone: one that can not be reported
// must not keep the others.
func (j *Journal) end(ctx context.Context, ids []string, verdict func(id string, r *record) bool) error {
	var failed []error
	for _, id := range ids {
		err := j.box.Write(context.WithoutCancel(ctx), StepEnd, func(tx *outbox.Tx) error {
			r, known, err := get(tx.Books, id)
			if err != nil || !known || r.State == Done {
				tx.OnCommit(func() { j.closed(id) })
				return nil
			}
			if !verdict(id, &r) {
				return nil
			}
			if err := j.report(tx, id, &r); err != nil {
				return err
			}
			return j.finish(tx, id, r)
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("dispense: end %s: %w", id, err))
		}
	}
	return errors.Join(failed...)
}

// expire ends a command that nobody took, unless it was taken, or an answer gave
// it more time, since it was found to be over.
func (j *Journal) expire(id string, r *record) bool {
	if r.State != Ready || !j.stillOver(id) {
		return false
	}
	r.fill(wire.Expired, "")
	return true
}

// withhold ends a command that was to be handed out and that nobody has heard of.
func (j *Journal) withhold(_ string, r *record) bool {
	r.fill(wire.Expired, "")
	return true
}

// giveUp ends a command that the firmware took and is silent about.
func (j *Journal) giveUp(id string, r *record) bool {
	if r.State != Dispensing || !j.stillOver(id) {
		return false
	}
	r.fill(wire.Uncertain, "no word from the firmware")
	return true
}

func (j *Journal) stillOver(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.open[id]
	return s != nil && j.opt.Mono() >= s.end()
}
