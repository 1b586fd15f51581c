package pathtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
	"vendline/shared/wire"
)

// acts are what may happen to an order and its money, at any moment and at the
// same time. None of them may fail but by a no that its caller understands.
var acts = map[string]func(p *process, id string) error{
	"start at the till":    func(p *process, id string) error { return second(p.money.Start(p.ctx, id, "till")) },
	"start at the kiosk":   func(p *process, id string) error { return second(p.money.Start(p.ctx, id, "kiosk")) },
	"pay at the till":      func(p *process, id string) error { p.tills["till"].pay(payment.TradeNo(id)); return nil },
	"pay at the kiosk":     func(p *process, id string) error { p.tills["kiosk"].pay(payment.TradeNo(id)); return nil },
	"the till calls back":  func(p *process, id string) error { return p.callback(id, "till") },
	"the kiosk calls back": func(p *process, id string) error { return p.callback(id, "kiosk") },
	"the till is away":     func(p *process, _ string) error { p.tills["till"].away(true); return nil },
	"the till is back":     func(p *process, _ string) error { p.tills["till"].away(false); return nil },
	"the shopper looks":    func(p *process, id string) error { return second(p.orders.Wait(p.ctx, id, 0)) },
	"the shopper cancels":  func(p *process, id string) error { return second(p.orders.Cancel(p.ctx, id)) },
	"the order is sent":    func(p *process, id string) error { return p.orderAgain(id) },
	"some seconds pass":    func(p *process, _ string) error { p.site.pass(7 * time.Second); return nil },
	"its time is over":     func(p *process, _ string) error { p.site.pass(hold + 40*time.Second); return nil },
	"the sweep":            func(p *process, _ string) error { return second(p.timers.Sweep(p.ctx)) },
	"callbacks settle":     func(p *process, _ string) error { p.carry(outbox.KindNotice); return nil },
	"charges are checked":  func(p *process, _ string) error { p.carry(outbox.KindCheck); return nil },
	"late money is seen":   func(p *process, _ string) error { p.carry(outbox.KindLate); return nil },
	"refunds are made":     func(p *process, _ string) error { p.carry(outbox.KindRefund); return nil },
	"stock hears of it":    func(p *process, _ string) error { p.carry(outbox.KindRedis); return nil },
	"the last unit goes":   func(p *process, _ string) error { return p.buyAll() },
}

func second[T any](_ T, err error) error { return err }

// callback sends a till's callback, if there is one; the first twice.
func (p *process) callback(id, till string) error {
	n, paid := p.tills[till].callback(payment.TradeNo(id))
	if !paid {
		return nil
	}
	if _, err := p.money.Notify(p.ctx, till, n); err != nil {
		return err
	}
	if _, err := p.money.Notify(p.ctx, till, n); !errors.Is(err, payment.ErrUnsigned) {
		return fmt.Errorf("a replay was heard: %w", err)
	}
	return nil
}

func (p *process) orderAgain(id string) error {
	return second2(p.orders.Place(p.ctx, order.Request{ID: id, Cabinet: cabinet, User: "u-ann", Lines: lines(1, 0)}))
}

// buyAll takes what is left, so that late money finds nothing.
func (p *process) buyAll() error {
	have, err := p.stock.Sellable(p.ctx, cabinet)
	if err != nil || have["cola"] <= 0 {
		return nil
	}
	return second2(p.orders.Place(p.ctx, order.Request{ID: p.id(), Cabinet: cabinet, User: "u-bob", Lines: []wire.Line{{SKU: "cola", Qty: int(have["cola"])}}}))
}

func second2[A, B any](_ A, _ B, err error) error { return err }

// Whatever happens to one order, from however many sides at once: it is paid
// once or not at all, and every payer has his goods or his money.
func TestAnyRaceOfMoneyEndsExact(t *testing.T) {
	names := rapid.SampledFrom(sorted(acts))
	rapid.Check(t, func(rt *rapid.T) {
		hands := rapid.SliceOfN(rapid.SliceOfN(names, 1, 12), 1, 5).Draw(rt, "hands")
		s, c := newSite(t), newCustomers()
		p := s.start(nil)
		defer p.end()
		id := c.id(p, "ann")
		if err := p.orderAgain(id); err != nil {
			rt.Fatal(err)
		}
		if err := acts["start at the till"](p, id); err != nil {
			rt.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, list := range hands {
			wg.Go(func() {
				for _, name := range list {
					if err := acts[name](p, id); !understood(err) {
						rt.Errorf("%s: %v", name, err)
					}
				}
			})
		}
		wg.Wait()
		s.tills["till"].away(false)
		p.quiet()
		for _, w := range p.moneyVerdict(c) {
			rt.Error(w)
		}
	})
}

// understood reports whether an error is a no that its caller can act on.
func understood(err error) bool {
	var no *order.Refusal
	var state *order.StateError
	return err == nil || errors.As(err, &no) || errors.As(err, &state) || errors.Is(err, order.ErrNotLoaded)
}

func sorted[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
