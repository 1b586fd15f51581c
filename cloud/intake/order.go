package intake

import (
	"context"
	"errors"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// order places one scan-order and answers it.
func (in *Intake) order(cabinet string, payload []byte) {
	e, err := wire.DecodeEvent(payload, cabinet, wire.ChannelOrder)
	if err != nil {
		in.unreadable(cabinet, wire.ChannelOrder, payload, err)
		return
	}
	var o order.Order
	err = in.retry(func(ctx context.Context) (err error) {
		o, _, err = in.opt.Placer.Place(ctx, order.Request{ID: e.ID, Cabinet: cabinet, User: e.Order.User, Lines: e.Order.Lines, PricedAt: e.Order.PricedAt})
		return err
	})
	var no *order.Refusal
	switch {
	case err == nil:
		in.counts.accepted.Add(1)
		in.publish(cabinet, wire.ChannelVerdict, in.accepted(e, o))
		in.answered(cabinet)
	case errors.As(err, &no):
		in.refuse(cabinet, e, no)
	default:
		in.giveUp("place an order", cabinet, e, err)
	}
}

// fact records one fact and acknowledges it. A fact that is refused for good
// happened all the same, so it is kept as a dead letter.
func (in *Intake) fact(cabinet string, payload []byte) {
	e, err := wire.DecodeEvent(payload, cabinet, wire.ChannelFact)
	if err != nil {
		in.unreadable(cabinet, wire.ChannelFact, payload, err)
		return
	}
	err = in.retry(func(ctx context.Context) error { return in.opt.Facts.Record(ctx, cabinet, e) })
	var no *order.Refusal
	switch {
	case err == nil:
		in.counts.facts.Add(1)
		in.acks.add(cabinet, e.Epoch, e.Seq)
		if in.births != nil && movesStock(e.Fact) {
			in.births.changed(cabinet)
		}
		in.answered(cabinet)
	case errors.As(err, &no) && !no.Code.Retryable():
		if in.bury(letter{topic: wire.Topic(cabinet, wire.ChannelFact), reason: no.Error(), payload: payload, event: e}) {
			in.refuse(cabinet, e, no)
		}
	case errors.As(err, &no):
		in.refuse(cabinet, e, no)
	default:
		in.giveUp("record a fact", cabinet, e, err)
	}
}

// retry calls do until it succeeds, is refused for good, or has failed too often.
func (in *Intake) retry(do func(ctx context.Context) error) error {
	pause := in.opt.Timing.Retry
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(in.ctx, in.opt.Timing.Try)
		err := do(ctx)
		cancel()
		var no *order.Refusal
		if err == nil || errors.As(err, &no) && !no.Code.Retryable() || try == in.opt.Timing.Retries {
			return err
		}
		in.counts.retries.Add(1)
		select {
		case <-time.After(time.Duration(float64(pause) * (0.5 + in.opt.Jitter()/2))):
		case <-in.ctx.Done():
			return err
		}
		pause *= 3
	}
}

// answered tells the fleet's observer that a cabinet gets its events through.
func (in *Intake) answered(cabinet string) {
	if in.opt.Watcher != nil {
		in.opt.Watcher.Answered(cabinet, in.opt.Now())
	}
}

// giveUp leaves an event undecided: what became of it is not known. The cabinet
// is told so, sends it again later under the same id, and meanwhile has room in
// its window for other events.
func (in *Intake) giveUp(step, cabinet string, e wire.Event, err error) {
	in.counts.unanswered.Add(1)
	in.refuse(cabinet, e, &order.Refusal{Code: wire.CodeUnavailable, Detail: "the cloud cannot decide right now; the event will be sent again"})
	if missed, ok := in.away.allow(in.opt.Now()); ok {
		in.opt.Log.Error("intake: an event stays undecided and will come again", "step", step, "cabinet", cabinet, "event", e.ID, "err", err, "not_told", missed)
	}
}
