package simulation

import (
	"context"
	"fmt"
	"time"

	"vendline/cloud/deduct"
	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/intake"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/cloud/queue"
	"vendline/cloud/reconcile"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// stockPort is Redis as a mortal process reaches it.
type stockPort struct {
	p *cloud
	s *deduct.Stock
}

// reach makes a call to Redis: over a connection that has passed the gate, if
// there is an answer.
func reach[T any](r stockPort, step string, do func() (T, error)) (T, error) {
	return through(r.p, step, func() (none T, err error) {
		w := r.p.w
		if w.away {
			return none, errAway
		}
		if w.deep == 0 && !w.unmet {
			if err := r.p.gated.Enter(w.ctx, fence.Server{Identity: fmt.Sprint("redis-", w.server), Place: "redis:6379", Evicted: w.evicted}); err != nil {
				return none, err
			}
		}
		v, err := do()
		if w.deep == 0 && w.fire(RedisMute, 60) {
			return none, errAway
		}
		return v, err
	})
}

func tell(r stockPort, step string, do func() error) error {
	_, err := reach(r, step, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (r stockPort) Deduct(ctx context.Context, b order.Basket) (order.Taken, error) {
	return reach(r, "deduct "+tail(b.ID), func() (order.Taken, error) { return r.s.Deduct(ctx, b) })
}

// Generation is asked under the cabinet's lock: nobody else goes on.
func (r stockPort) Generation(ctx context.Context, c string) (string, error) {
	if r.p.w.away {
		return "", errAway
	}
	return r.s.Generation(ctx, c)
}

func (r stockPort) Load(ctx context.Context, s fence.Snapshot) error {
	if r.p.w.opt.Bug == RebuildForgetsPending {
		s.Done = nil
	}
	return tell(r, "load "+s.Cabinet, func() error { return r.s.Load(ctx, s) })
}

func (r stockPort) Release(ctx context.Context, rs []effect.Release) []effect.Result {
	return r.carried("release", len(rs), func() []effect.Result { return r.s.Release(ctx, rs) })
}

func (r stockPort) Adjust(ctx context.Context, as []effect.Adjust) []effect.Result {
	return r.carried("adjust", len(as), func() []effect.Result { return r.s.Adjust(ctx, as) })
}

func (r stockPort) carried(step string, n int, do func() []effect.Result) []effect.Result {
	out, err := reach(r, step, func() ([]effect.Result, error) { return do(), nil })
	if err != nil {
		out = make([]effect.Result, n)
		for i := range out {
			out[i].Err = err
		}
	}
	return out
}

func (r stockPort) Held(ctx context.Context, c string, olderThan time.Duration) ([]orphan.Hold, error) {
	return reach(r, "held "+c, func() ([]orphan.Hold, error) { return r.s.Held(ctx, c, olderThan) })
}

func (r stockPort) Settle(ctx context.Context, known []statement.Settled) error {
	return tell(r, "settle", func() error { return r.s.Settle(ctx, known) })
}

// holdsPort is how step 8 tells Redis, after its commit, on a goroutine of its
// own: it waits until the delivery that sent it says so.
type holdsPort struct {
	p *cloud
	stockPort
}

func (h holdsPort) Settle(ctx context.Context, known []statement.Settled) error {
	h.p.knock <- struct{}{}
	<-h.p.enter
	defer func() { h.p.left <- struct{}{} }()
	return h.stockPort.Settle(context.WithoutCancel(ctx), known)
}

// comparePort is Redis as a mortal reconciler reaches it.
type comparePort struct{ stockPort }

func (r comparePort) Views(ctx context.Context, cabinets []string) (map[string]reconcile.View, error) {
	return reach(r.stockPort, "views", func() (map[string]reconcile.View, error) { return r.s.Views(ctx, cabinets) })
}

func (r comparePort) MarksOf(ctx context.Context, ids map[string][]string) (map[string]reconcile.Marks, error) {
	return reach(r.stockPort, "marks", func() (map[string]reconcile.Marks, error) { return r.s.MarksOf(ctx, ids) })
}

func (r comparePort) Mend(ctx context.Context, fix reconcile.Repair) error {
	return tell(r.stockPort, "mend", func() error { return r.s.Mend(ctx, fix) })
}

func (r comparePort) Freeze(ctx context.Context, c, token string) (v reconcile.View, ok bool, err error) {
	err = tell(r.stockPort, "freeze "+c, func() error { v, ok, err = r.s.Freeze(ctx, c, token); return err })
	return v, ok, err
}

func (r comparePort) Thaw(ctx context.Context, c, token string) error {
	return tell(r.stockPort, "thaw "+c, func() error { return r.s.Thaw(ctx, c, token) })
}

// ledgerPort is the ledger as a mortal process reaches it.
type ledgerPort struct {
	p *cloud
	*ledger.Ledger
}

// commit is a step of the ledger: what it changed is compared with the model.
func commit[T any](p *cloud, step string, do func() (T, error)) (T, error) {
	return through(p, step, func() (T, error) {
		v, err := do()
		p.w.compareModel(step)
		return v, err
	})
}

func write(p *cloud, step string, do func() error) error {
	_, err := commit(p, step, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (l ledgerPort) Place(ctx context.Context, p *order.Placement) error {
	l.p.w.opt.Bug.place(l.p, p)
	return write(l.p, "order commit "+tail(p.Order.ID), func() error {
		err := l.Ledger.Place(ctx, p)
		if err == nil {
			l.p.w.model.stands(p.Order)
			for _, line := range p.Order.Lines {
				if l.p.w.model.truth(p.Order.Cabinet)[line.SKU] < 0 {
					l.p.w.over++
					break
				}
			}
		}
		return err
	})
}

func (l ledgerPort) PlaceFallback(ctx context.Context, o order.Order, items []order.Item) error {
	return write(l.p, "order commit by the ledger "+tail(o.ID), func() error {
		back := l.p.w.opt.Bug.keepToken(l.p.w, o.Cabinet)
		err := l.Ledger.PlaceFallback(ctx, o, items)
		back()
		if err == nil {
			l.p.w.model.stands(o)
		}
		return err
	})
}

func (l ledgerPort) RetryFallback(ctx context.Context, o order.Order, items []order.Item) (order.Order, error) {
	return commit(l.p, "retry by the ledger "+tail(o.ID), func() (order.Order, error) {
		after, err := l.Ledger.RetryFallback(ctx, o, items)
		if err == nil {
			l.p.w.model.stands(after)
		}
		return after, err
	})
}

func (l ledgerPort) Transition(ctx context.Context, c *order.Change) error {
	return write(l.p, fmt.Sprintf("%s %s", c.Event, tail(c.ID)), func() error {
		err := l.Ledger.Transition(ctx, c)
		if err == nil {
			l.p.w.model.stands(c.After)
		}
		return err
	})
}

func (l ledgerPort) Rebuild(ctx context.Context, c string, current func(context.Context, string) (bool, error), load func(context.Context, fence.Snapshot) error) error {
	w := l.p.w
	if !w.unmet && !w.away && w.deep == 0 {
		if err := l.p.gated.Enter(w.ctx, fence.Server{Identity: fmt.Sprint("redis-", w.server), Place: "redis:6379", Evicted: w.evicted}); err != nil {
			return err
		}
	}
	return closed(l.p, "rebuild "+c, func() error {
		err := l.Ledger.Rebuild(ctx, c, current, load)
		if err == nil {
		}
		return err
	})
}

func (l ledgerPort) Locked(ctx context.Context, c string, do func(context.Context, reconcile.Desk) error) error {
	return closed(l.p, "lock "+c, func() error { return l.Ledger.Locked(ctx, c, do) })
}

func (l ledgerPort) Draw(ctx context.Context, c, generation string) error {
	return pass(l.p, "fence drawn "+c, func() error { return l.Ledger.Draw(ctx, c, generation) })
}

func (l ledgerPort) Claim(ctx context.Context, k outbox.Kind, n int, lease func(int) time.Duration) ([]outbox.Row, error) {
	if err := l.p.gate("before claim"); err != nil {
		return nil, err
	}
	rows, err := l.Ledger.Claim(ctx, k, n, lease)
	if dead := l.p.gate("after claim"); dead != nil {
		return nil, dead
	}
	return rows, err
}

func (l ledgerPort) Delete(ctx context.Context, ids ...string) error {
	return pass(l.p, "row delete", func() error { return l.Ledger.Delete(ctx, ids...) })
}

func (l ledgerPort) Apply(ctx context.Context, msgs []statement.Message) (statement.Applied, error) {
	msgs = l.p.w.opt.Bug.apply(l.p, msgs)
	a, err := commit(l.p, fmt.Sprintf("apply %d messages", len(msgs)), func() (statement.Applied, error) { return l.Ledger.Apply(ctx, msgs) })
	for _, s := range a.Known {
		if err == nil && (s.State == statement.PreReserved || s.State == statement.Consumed) {
			l.p.settles++
			break
		}
	}
	return a, err
}

func (l ledgerPort) SettleShortage(ctx context.Context, c, sku string) (*statement.Shortage, error) {
	return commit(l.p, "shortage of "+sku+" at "+c, func() (*statement.Shortage, error) {
		s, err := l.Ledger.SettleShortage(ctx, c, sku)
		if err == nil && s != nil {
			l.p.w.trace(l.p.name, "shortage", fmt.Sprintf("%d lose, %d drift", len(s.Losers), s.Drift))
			l.p.w.adopt(c)
		}
		return s, err
	})
}

func (l ledgerPort) FinishEffects(ctx context.Context, row string, runs []effect.Ran) error {
	return pass(l.p, "finish effects", func() error { return l.Ledger.FinishEffects(ctx, row, runs) })
}

func (l ledgerPort) SettleOrphan(ctx context.Context, h orphan.Hold) (orphan.Outcome, error) {
	return commit(l.p, "orphan settle "+tail(h.ID), func() (orphan.Outcome, error) { return l.Ledger.SettleOrphan(ctx, h) })
}

func (l ledgerPort) OpenPayment(ctx context.Context, id, provider string) (payment.Payment, order.Order, error) {
	var o order.Order
	p, err := through(l.p, "open payment "+tail(id), func() (p payment.Payment, err error) {
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

func (l ledgerPort) OpenCommands(ctx context.Context, c string) ([]wire.Vend, error) {
	return through(l.p, "offer to "+c, func() ([]wire.Vend, error) { return l.Ledger.OpenCommands(ctx, c) })
}

func (l ledgerPort) AbandonCommand(ctx context.Context, id string, before time.Time) error {
	return write(l.p, "abandon", func() error {
		err := l.Ledger.AbandonCommand(ctx, id, before)
		l.p.w.abandoned = true
		l.p.w.adopt(cabinetIDs()...)
		return err
	})
}

// bookPort is the ledger as a mortal reconciler reaches it.
type bookPort struct{ ledgerPort }

func (l bookPort) Books(ctx context.Context, ids map[string][]string) (map[string]reconcile.Books, error) {
	return through(l.p, "books", func() (map[string]reconcile.Books, error) { return l.Ledger.Books(ctx, ids) })
}

func (l bookPort) NoteFinding(ctx context.Context, f reconcile.Finding) error {
	return pass(l.p, "finding", func() error { return l.Ledger.NoteFinding(ctx, f) })
}

func (l bookPort) MarkFinding(ctx context.Context, id string, s reconcile.State) error {
	return pass(l.p, "finding marked", func() error { return l.Ledger.MarkFinding(ctx, id, s) })
}

// factPort is the ledger as intake reaches it.
type factPort struct {
	p     *cloud
	facts intake.Facts
}

func (f factPort) Record(ctx context.Context, cabinet string, e wire.Event) error {
	return write(f.p, fmt.Sprintf("fact commit %s %s", e.Fact.Kind, tail(e.ID)), func() error {
		err := f.facts.Record(ctx, cabinet, e)
		if err == nil {
			f.p.w.model.happens(cabinet, e)
		}
		if e.Fact.Kind == wire.FactDispense { // units that did not drop may be returned
			f.p.w.adopt(cabinet)
		}
		return err
	})
}

// senderPort is the queue as a mortal process reaches it.
type senderPort struct{ p *cloud }

func (s senderPort) Send(ctx context.Context, msgs ...queue.Message) error {
	return pass(s.p, fmt.Sprintf("send %d", len(msgs)), func() error {
		s.p.w.queue.send(msgs...)
		if s.p.w.opt.Bug == AckBeforeCommit {
			for _, m := range msgs {
				_ = s.p.books.Delete(ctx, m.Key)
			}
		}
		return nil
	})
}

// ack acknowledges a delivery that was handled.
func (p *cloud) ack(msgs []queue.Message, handled error) {
	_ = pass(p, fmt.Sprintf("ack %d", len(msgs)), func() error {
		if handled == nil && !p.w.fire(AckLost, 8) {
			p.w.queue.ack(msgs)
		}
		return handled
	})
}

// wakePort is the way to the cabinets, as a mortal process has it.
type wakePort struct{ p *cloud }

func (w wakePort) Wake(cabinet string) {
	w.p.intake.Wake(cabinet)
}

// tillPort is the provider as a mortal process reaches it.
type tillPort struct {
	*till
	p *cloud
}

func (t tillPort) Create(ctx context.Context, c payment.Charge) (payment.Prepay, error) {
	return through(t.p, "charge created", func() (payment.Prepay, error) { return t.till.Create(ctx, c) })
}

func (t tillPort) Query(ctx context.Context, no string) (payment.Charged, error) {
	return through(t.p, "charge asked", func() (payment.Charged, error) { return t.till.Query(ctx, no) })
}

func (t tillPort) Close(ctx context.Context, no string) error {
	return pass(t.p, "charge closed", func() error { return t.till.Close(ctx, no) })
}

func (t tillPort) Refund(ctx context.Context, r payment.Refund) (payment.RefundState, error) {
	return through(t.p, "refund made", func() (payment.RefundState, error) { return t.till.Refund(ctx, r) })
}

// tail names an id shortly.
func tail(id string) string { return id[max(0, len(id)-4):] }
