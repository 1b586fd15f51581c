package intake

import (
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// accepted is the verdict of an order that is durable. What remains of the hold
// is told as an interval, since the cabinet's clock may be wrong by years.
func (in *Intake) accepted(e wire.Event, o order.Order) wire.Verdict {
	v := verdict(e, wire.Accepted)
	v.Status, v.Amount, v.Currency = string(o.Status), o.Amount, o.Currency
	until := o.HoldUntil
	if until.IsZero() {
		until = o.ExpiresAt
	}
	v.ExpiresIn = int64(max(0, until.Sub(in.opt.Now())) / time.Millisecond)
	return v
}

// refuse answers an event with a no. A retryable no tells the cabinet to come
// again later; its row stays.
func (in *Intake) refuse(cabinet string, e wire.Event, no *order.Refusal) {
	in.counts.refused.Add(1)
	v := verdict(e, no.Code)
	v.Cabinet, v.Detail, v.Retryable, v.Short = cabinet, no.Detail, no.Code.Retryable(), no.Short
	v.Prices, v.PricedAt = no.Prices, no.PricedAt
	in.publish(cabinet, wire.ChannelVerdict, v)
}

func verdict(e wire.Event, c wire.Code) wire.Verdict {
	return wire.Verdict{V: wire.Version, ID: e.ID, Cabinet: e.Cabinet, Epoch: e.Epoch, Seq: e.Seq, Code: c}
}
