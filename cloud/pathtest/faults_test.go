package pathtest

import (
	"vendline/cloud/order"
	"vendline/cloud/queue"
	"vendline/cloud/statement"
	"vendline/lua"
)

// faults are rules left out, to prove that the harness would notice. The zero
// value leaves none out.
type faults struct {
	forgetPending bool         // reconciliation takes every effect for heard
	scripts       *lua.Scripts // what Redis runs; nil is the real ones
	anyGeneration bool         // an order commits under whatever generation it ran
	anyTicket     bool         // a ticket drawn twice is accepted
	rowGoesOnSend bool         // a stock row goes with SendOK …
	ackFirst      bool         // … and the queue's ack comes before the commit
	commands      bool         // statements are added up as commands
}

func (f faults) place(p *process, pl *order.Placement) {
	if f.anyGeneration {
		pl.Run.Generation = p.generation()
	}
	if f.anyTicket || f.anyGeneration {
		p.site.mu.Lock()
		p.serial++
		pl.Run.Ticket = 1_000_000 + p.serial
		p.site.mu.Unlock()
	}
}

func (f faults) apply(p *process, msgs []statement.Message) []statement.Message {
	if !f.commands {
		return msgs
	}
	out := make([]statement.Message, len(msgs))
	for i, m := range msgs {
		out[i] = m
		out[i].Statements = nil
		for _, s := range m.Statements {
			s.ID = p.id() // nothing is known of it: its effect is added
			out[i].Statements = append(out[i].Statements, s)
		}
	}
	return out
}

func (f faults) sent(p *process, msgs []queue.Message) {
	if !f.rowGoesOnSend {
		return
	}
	for _, m := range msgs {
		p.ok(p.books.Delete(p.ctx, m.Key))
	}
}
