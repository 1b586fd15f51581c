package pathtest

import (
	"context"
	"time"

	"vendline/cloud/deduct"
	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/cloud/queue"
	"vendline/cloud/statement"
)

// stockPort is Redis as a mortal process reaches it.
type stockPort struct {
	p *process
	s *deduct.Stock
}

func (r stockPort) Deduct(ctx context.Context, b order.Basket) (order.Taken, error) {
	return through(r.p, "deduct", func() (order.Taken, error) { return r.s.Deduct(ctx, b) })
}

func (r stockPort) Generation(ctx context.Context, c string) (string, error) {
	return r.s.Generation(ctx, c)
}

func (r stockPort) Load(ctx context.Context, s fence.Snapshot) error {
	return pass(r.p, "load", func() error { return r.s.Load(ctx, s) })
}

func (r stockPort) Release(ctx context.Context, rs []effect.Release) []effect.Result {
	return carried(r.p, "release", len(rs), func() []effect.Result { return r.s.Release(ctx, rs) })
}

func (r stockPort) Adjust(ctx context.Context, as []effect.Adjust) []effect.Result {
	return carried(r.p, "adjust", len(as), func() []effect.Result { return r.s.Adjust(ctx, as) })
}

func carried(p *process, step string, n int, do func() []effect.Result) []effect.Result {
	out, err := through(p, step, func() ([]effect.Result, error) { return do(), nil })
	if err != nil {
		out = make([]effect.Result, n)
		for i := range out {
			out[i].Err = err
		}
	}
	return out
}

func (r stockPort) Held(ctx context.Context, c string, olderThan time.Duration) ([]orphan.Hold, error) {
	return r.s.Held(ctx, c, olderThan)
}

func (r stockPort) Settle(ctx context.Context, known []statement.Settled) error {
	return pass(r.p, "settle", func() error { return r.s.Settle(ctx, known) })
}

// ledgerPort is the ledger as a mortal process reaches it.
type ledgerPort struct {
	p *process
	*ledger.Ledger
}

func (l ledgerPort) Place(ctx context.Context, p *order.Placement) error {
	l.p.faults.place(l.p, p)
	return pass(l.p, "order commit", func() error { return l.Ledger.Place(ctx, p) })
}

func (l ledgerPort) Transition(ctx context.Context, c *order.Change) error {
	return pass(l.p, "transition commit", func() error { return l.Ledger.Transition(ctx, c) })
}

func (l ledgerPort) Record(ctx context.Context, f ledger.Fact) error {
	return pass(l.p, "fact commit", func() error { return l.Ledger.Record(ctx, f) })
}

func (l ledgerPort) Rebuild(ctx context.Context, c string, current func(context.Context, string) (bool, error), load func(context.Context, fence.Snapshot) error) error {
	return pass(l.p, "rebuild", func() error { return l.Ledger.Rebuild(ctx, c, current, load) })
}

func (l ledgerPort) Draw(ctx context.Context, c, generation string) error {
	return pass(l.p, "fence drawn", func() error { return l.Ledger.Draw(ctx, c, generation) })
}

func (l ledgerPort) Claim(ctx context.Context, k outbox.Kind, n int, lease func(int) time.Duration) ([]outbox.Row, error) {
	return through(l.p, "claim", func() ([]outbox.Row, error) { return l.Ledger.Claim(ctx, k, n, lease) })
}

func (l ledgerPort) Delete(ctx context.Context, ids ...string) error {
	return pass(l.p, "row delete", func() error { return l.Ledger.Delete(ctx, ids...) })
}

func (l ledgerPort) Apply(ctx context.Context, msgs []statement.Message) (statement.Applied, error) {
	msgs = l.p.faults.apply(l.p, msgs)
	return through(l.p, "apply", func() (statement.Applied, error) { return l.Ledger.Apply(ctx, msgs) })
}

func (l ledgerPort) SettleShortage(ctx context.Context, c, sku string) (*statement.Shortage, error) {
	return through(l.p, "shortage", func() (*statement.Shortage, error) { return l.Ledger.SettleShortage(ctx, c, sku) })
}

func (l ledgerPort) FinishEffects(ctx context.Context, row string, runs []effect.Ran) error {
	return pass(l.p, "finish effects", func() error { return l.Ledger.FinishEffects(ctx, row, runs) })
}

func (l ledgerPort) SettleOrphan(ctx context.Context, h orphan.Hold) (orphan.Outcome, error) {
	return through(l.p, "orphan settle", func() (orphan.Outcome, error) { return l.Ledger.SettleOrphan(ctx, h) })
}

func (l ledgerPort) OpenPayment(ctx context.Context, id, provider string) (payment.Payment, order.Order, error) {
	var o order.Order
	p, err := through(l.p, "open payment", func() (p payment.Payment, err error) {
		p, o, err = l.Ledger.OpenPayment(ctx, id, provider)
		return p, err
	})
	return p, o, err
}

func (l ledgerPort) ClosePayment(ctx context.Context, id string) error {
	return pass(l.p, "close payment", func() error { return l.Ledger.ClosePayment(ctx, id) })
}

func (l ledgerPort) KeepNotice(ctx context.Context, provider string, n payment.Notice) (bool, error) {
	return through(l.p, "keep notice", func() (bool, error) { return l.Ledger.KeepNotice(ctx, provider, n) })
}

func (l ledgerPort) FinishNotice(ctx context.Context, provider, id, outcome, row string) error {
	return pass(l.p, "finish notice", func() error { return l.Ledger.FinishNotice(ctx, provider, id, outcome, row) })
}

func (l ledgerPort) ReturnSurplus(ctx context.Context, id, reason, row string) error {
	return pass(l.p, "return surplus", func() error { return l.Ledger.ReturnSurplus(ctx, id, reason, row) })
}

func (l ledgerPort) FinishReturn(ctx context.Context, id, row string) error {
	return pass(l.p, "finish return", func() error { return l.Ledger.FinishReturn(ctx, id, row) })
}

func (l ledgerPort) FailReturn(ctx context.Context, id, row, reason string, final bool) (bool, error) {
	return through(l.p, "fail return", func() (bool, error) { return l.Ledger.FailReturn(ctx, id, row, reason, final) })
}

// senderPort is the queue as a mortal process reaches it.
type senderPort struct {
	p *process
	q *carrier
}

func (s senderPort) Send(ctx context.Context, msgs ...queue.Message) error {
	return pass(s.p, "send", func() error {
		err := s.q.Send(ctx, msgs...)
		s.p.faults.sent(s.p, msgs)
		return err
	})
}
