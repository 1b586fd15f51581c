package uplink

import (
	"context"
	"fmt"
	"time"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// readAtOnce bounds the rows read from the outbox in one go, and so the memory
// that a backlog of any length takes.
const readAtOnce = 64

// send publishes rows on s until ctx ends or the connection is lost; it
// returns why.
func (u *Uplink) send(ctx context.Context, s *session) error {
	u.mu.Lock()
	u.window.restart(u.cfg.Mono())
	u.mu.Unlock()
	beat := time.NewTicker(u.cfg.Timing.Beat)
	defer beat.Stop()
	u.beat(s)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.dead:
			return s.why
		case <-beat.C:
			u.beat(s)
			continue
		case <-u.box.Arrived():
		case <-u.wake:
		case <-timer.C:
		}
		if err := u.flush(ctx, s); err != nil {
			return err
		}
		timer.Reset(u.untilDue())
	}
}

// flush publishes all that may be sent now: what is due again, then new rows.
func (u *Uplink) flush(ctx context.Context, s *session) error {
	for {
		u.mu.Lock()
		again := u.window.take(u.cfg.Mono(), readAtOnce)
		u.mu.Unlock()
		if len(again) == 0 {
			break
		}
		for _, seq := range again {
			if err := u.resend(ctx, s, seq); err != nil {
				return err
			}
		}
	}
	for {
		u.mu.Lock()
		room, last := min(u.window.room(), readAtOnce), u.window.last
		u.mu.Unlock()
		if room == 0 {
			return nil
		}
		rows, err := u.box.Pending(last, room)
		if err != nil {
			return fmt.Errorf("read outbox: %w", err)
		}
		for _, row := range rows {
			u.mu.Lock()
			added := u.window.add(row.Seq, barrier(row), u.cfg.Mono())
			u.mu.Unlock()
			if !added {
				return nil // an answer will let it pass, and nothing overtakes it
			}
			if err := u.sendRow(ctx, s, row); err != nil {
				return err
			}
		}
		if len(rows) < room {
			return nil
		}
	}
}

func (u *Uplink) resend(ctx context.Context, s *session, seq int64) error {
	row, waiting, err := u.box.Row(seq)
	if err != nil {
		return fmt.Errorf("read outbox: %w", err)
	}
	if !waiting { // answered meanwhile
		u.forget(seq)
		return nil
	}
	u.resent.Add(1)
	return u.sendRow(ctx, s, row)
}

// sendRow publishes one row, or parks it if no broker or cloud could take it:
// sending what is too large would end the connection, and do so again for ever.
func (u *Uplink) sendRow(ctx context.Context, s *session, row outbox.Row) error {
	if row.Bad != nil {
		return u.park(ctx, row.Seq, wire.CodeInternal, "can not be read: "+row.Bad.Error())
	}
	payload := wire.Encode(u.box.Event(row))
	if len(payload) > wire.MaxMessage {
		return u.park(ctx, row.Seq, wire.CodeTooLarge, fmt.Sprintf("message of %d bytes, at most %d", len(payload), wire.MaxMessage))
	}
	if !s.publish(message{topic: wire.Topic(u.cfg.Cabinet, row.Kind().Channel()), qos: 1, payload: payload}) {
		return s.why
	}
	u.debt.asked(u.cfg.Mono())
	return nil
}

// barrier reports whether a row says what was counted. The cloud compares a
// count with what it knows of everything before it, so it must know all of that,
// and nothing of what came after.
func barrier(row outbox.Row) bool { return row.Fact != nil && len(row.Fact.Counts) > 0 }

func (u *Uplink) park(ctx context.Context, seq int64, code wire.Code, reason string) error {
	if err := u.box.Park(ctx, seq, code, reason); err != nil {
		u.cfg.Log.Error("row not parked; tried again later", "seq", seq, "err", err)
		return nil
	}
	u.cfg.Log.Error("row parked", "seq", seq, "code", code, "reason", reason)
	u.forget(seq)
	return nil
}

func (u *Uplink) forget(seq int64) {
	u.mu.Lock()
	u.window.settled(seq)
	u.mu.Unlock()
}

// untilDue is how long nothing needs to be sent unless something happens.
func (u *Uplink) untilDue() time.Duration {
	u.mu.Lock()
	due, ok := u.window.next()
	u.mu.Unlock()
	if !ok {
		return time.Hour
	}
	return max(due-u.cfg.Mono(), time.Millisecond)
}

// beat tells the cloud how we are. QoS 0: a late beat is worth nothing.
func (u *Uplink) beat(s *session) {
	s.publish(message{topic: wire.Topic(u.cfg.Cabinet, wire.ChannelBeat), payload: wire.Encode(wire.Beat{
		V: wire.Version, Cabinet: u.cfg.Cabinet, Session: s.id, Epoch: u.box.Epoch(), At: u.cfg.Now().UnixMilli(),
		Depth: u.box.Depth(), Parked: u.box.Parked(), Uptime: u.cfg.Mono().Milliseconds(),
	})})
}
