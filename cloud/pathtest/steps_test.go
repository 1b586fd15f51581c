package pathtest

import (
	"math/rand/v2"
	"time"

	"vendline/cloud/ledger"
	"vendline/cloud/outbox"
	"vendline/cloud/queue"
	"vendline/cloud/relay"
)

// pump carries out what waits, once each: what the service's loops would do
// within the next half minute. Whatever fails is left for the next time.
func (p *process) pump(rng *rand.Rand) {
	p.site.pass(25 * time.Second)
	p.carry(outbox.KindStock)
	p.carry(outbox.KindTimer)
	p.carry(outbox.KindRedis)
	p.deliver(relay.DefaultTopics().Stock, rng)
	p.deliver(relay.DefaultTopics().Timer, rng)
	_ = p.sweeper.Sweep(p.ctx)
	_, _ = p.timers.Sweep(p.ctx)
	p.carry(outbox.KindCommand)
	p.turn()
}

// pumpMoney is pump with what becomes of money, and of what it paid for.
func (p *process) pumpMoney() {
	p.pump(nil)
	p.carryMoney()
	p.turn()
}

// carryMoney carries out what waits of money, in the order in which one leads
// to the next, a few seconds after the other.
func (p *process) carryMoney() {
	for _, kind := range []outbox.Kind{outbox.KindNotice, outbox.KindCheck, outbox.KindLate, outbox.KindRefund} {
		p.site.pass(ledger.QuickLease)
		p.carry(kind)
	}
}

// carry claims rows of a kind whose lease is over, and carries them.
func (p *process) carry(kind outbox.Kind) {
	lease := ledger.QuickLease
	run := map[outbox.Kind]outbox.Carrier{outbox.KindStock: p.relay.Stock, outbox.KindTimer: p.relay.Timer, outbox.KindRedis: p.effects.Carry,
		outbox.KindCommand: p.vending.Carry,
		outbox.KindNotice:  p.money.CarryNotices, outbox.KindCheck: p.money.CarryChecks, outbox.KindLate: p.money.CarryLate, outbox.KindRefund: p.money.CarryRefunds}[kind]
	rows, err := p.ports.Claim(p.ctx, kind, 64, func(int) time.Duration { return lease })
	if err == nil && len(rows) > 0 {
		_ = run(p.ctx, rows)
	}
}

// deliver hands messages that are due to their handler, and acknowledges them.
func (p *process) deliver(topic string, rng *rand.Rand) {
	if p.killed() {
		return
	}
	n := 64
	if rng != nil {
		n = 1 + rng.IntN(4)
	}
	msgs := p.queue.take(topic, p.Now(), n, rng)
	if len(msgs) == 0 {
		return
	}
	if p.faults.ackFirst {
		p.queue.ack(msgs)
	}
	handle := map[string]queue.Handler{relay.DefaultTopics().Stock: p.consumer.Handle, relay.DefaultTopics().Timer: p.timers.Handle}[topic]
	if handle(p.ctx, msgs) == nil {
		_ = pass(p, "ack", func() error { p.queue.ack(msgs); return nil })
	}
}

// quiet lets time pass until nothing waits any more: every hold has ended, and
// all is carried out.
func (p *process) quiet() {
	for range 60 {
		if p.waiting() == 0 {
			return
		}
		p.site.pass(11 * time.Minute) // the longest lease
		_ = p.fence.Rebuild(p.ctx, cabinet)
		p.pumpMoney()
	}
}

// waiting is how much is not settled yet.
func (p *process) waiting() (n int) {
	for _, q := range []string{
		"SELECT COUNT(*) FROM local_msg",
		"SELECT COUNT(*) FROM trade_order WHERE status IN ('INIT', 'PRE_RESERVED')",
	} {
		var some int
		p.ok(p.db.QueryRowContext(p.ctx, q).Scan(&some))
		n += some
	}
	if holds, err := p.stock.Held(p.ctx, cabinet, 0); err != nil || len(holds) > 0 {
		n++ // not loaded, or holds that wait to be settled
	}
	return n + p.queue.depth()
}
