package intake

import (
	"context"

	"vendline/shared/wire"
)

// Wake tells a cabinet that there is something to dispense. If it gets lost, the
// cabinet is woken again, and asks of itself now and then.
func (in *Intake) Wake(cabinet string) {
	in.publish(cabinet, wire.ChannelCommand, wire.Command{V: wire.Version, Cabinet: cabinet, Kind: wire.CommandWake})
}

// ask answers a cabinet's question for what it is to dispense, also when that is
// nothing: the cabinet stops asking. A question that cannot be read, or that no
// server can answer now, is left: the cabinet asks again.
func (in *Intake) ask(cabinet string, payload []byte) {
	var q wire.Ask
	if wire.Decode(payload, wire.MaxMessage, &q) != nil || q.V != wire.Version || q.Cabinet != cabinet || !wire.ValidID(q.ID) {
		return
	}
	ctx, cancel := context.WithTimeout(in.ctx, in.opt.Timing.Try)
	defer cancel()
	vends, err := in.opt.Commands.OpenCommands(ctx, cabinet)
	if err != nil {
		if missed, ok := in.away.allow(in.opt.Now()); ok {
			in.opt.Log.Error("intake: a cabinet that asks what to dispense is not answered", "cabinet", cabinet, "err", err, "not_told", missed)
		}
		return
	}
	in.publish(cabinet, wire.ChannelCommand, wire.Command{V: wire.Version, Cabinet: cabinet, Kind: wire.CommandDispense, Ask: q.ID, Dispense: vends})
}
