package intake

import (
	"context"
	"errors"
	"time"

	"vendline/shared/wire"
)

// Local is an intake without a broker: whoever calls Take brings what cabinets
// say, and hears the answers. It tries everything once, on the caller's goroutine.
// A simulation owns it; births and beats are not its part.
type Local struct{ *Intake }

// NewLocal needs of o what Start needs, but for a broker. say hears what goes
// down to cabinets.
func NewLocal(o Options, say func(topic string, payload []byte) bool) (Local, error) {
	if o.Placer == nil || o.Facts == nil || o.DeadLetters == nil || say == nil {
		return Local{}, errors.New("intake: placer, facts, dead letters and somebody who hears are required")
	}
	o.fillDefaults()
	o.Timing.Retries, o.Timing.Flush = 0, 24*time.Hour // Take flushes
	in := &Intake{opt: o, say: say, graves: newGraves(o.DeadLetters)}
	in.ctx, in.cancel = context.WithCancel(context.Background())
	in.acks = newAcks(o.Timing.Flush, func(cabinet string, a wire.Ack) { in.publish(cabinet, wire.ChannelAck, a) })
	return Local{in}, nil
}

// Take sees one message to its end. What was answered has been said when it
// returns.
func (l Local) Take(topic string, payload []byte) {
	l.take(topic, payload)
	l.acks.flush()
}

// Close forgets what was not answered.
func (l Local) Close() { l.cancel() }
