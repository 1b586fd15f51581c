package pathtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// customers remember what they were told, and ask again under the same ids.
type customers struct {
	ids    map[string]string      // by name
	asked  map[string][2]int      // name → cola, chips
	first  map[string]order.Order // id → the first yes
	paid   map[string]bool        // id → heard that it is paid
	facts  map[string]bool        // id → heard that it is recorded
	wrong  []string
	events map[string]bool // what has happened once
}

func newCustomers() *customers {
	return &customers{ids: map[string]string{}, asked: map[string][2]int{}, first: map[string]order.Order{}, paid: map[string]bool{}, facts: map[string]bool{}, events: map[string]bool{}}
}

func (c *customers) say(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

func (c *customers) id(p *process, name string) string {
	if c.ids[name] == "" {
		c.ids[name] = p.id()
	}
	return c.ids[name]
}

func lines(cola, chips int) (out []wire.Line) {
	if chips > 0 {
		out = append(out, wire.Line{SKU: "chips", Qty: chips})
	}
	if cola > 0 {
		out = append(out, wire.Line{SKU: "cola", Qty: cola})
	}
	return out
}

// place asks for an order. A second time it must be told what it was first told.
func (c *customers) place(p *process, name string, cola, chips int) {
	c.asked[name] = [2]int{cola, chips}
	id := c.id(p, name)
	o, _, err := p.orders.Place(p.ctx, order.Request{ID: id, Cabinet: cabinet, User: "u-" + name, Lines: lines(cola, chips)})
	first, heard := c.first[id]
	var no *order.Refusal
	switch {
	case err == nil && !heard:
		c.first[id] = o
	case err == nil && !reflect.DeepEqual(o, first):
		c.say("%s was first told %+v, then %+v", name, first, o)
	case errors.As(err, &no) && heard && !no.Code.Retryable():
		c.say("%s was told yes, then %v", name, no)
	case err != nil && no == nil && !unknown(err):
		c.say("%s: %v", name, err)
	}
}

// again asks for what was asked under a name before.
func (c *customers) again(p *process, name string) {
	if basket, ok := c.asked[name]; ok {
		c.place(p, name, basket[0], basket[1])
	}
}

func (c *customers) pay(p *process, name string) {
	o, err := p.orders.Pay(p.ctx, c.id(p, name))
	c.expected(name, err)
	if err == nil {
		c.paid[o.ID] = true
	}
}

func (c *customers) cancel(p *process, name string) {
	_, err := p.orders.Cancel(p.ctx, c.id(p, name))
	c.expected(name, err)
}

// retry takes a rolled-back order's basket again: the payment came late.
func (c *customers) retry(p *process, name string) {
	o, err := p.orders.Get(p.ctx, c.id(p, name))
	if err != nil || o.Status != order.RolledBack || o.Orphan {
		return
	}
	var items []order.Item
	for _, l := range o.Lines {
		items = append(items, order.Item{SKU: l.SKU, Qty: l.Qty})
	}
	_, err = p.fast.Retry(p.ctx, o, items)
	c.expected(name, err)
}

func (c *customers) fact(p *process, name string, state statement.State, cola, chips int) {
	id := c.id(p, name)
	err := p.ports.Record(p.ctx, ledger.Fact{ID: id, Cabinet: cabinet, State: state, Epoch: id, Seq: 1, Lines: lines(cola, chips)})
	c.expected(name, err)
	if err == nil {
		c.facts[id] = true
	}
}

// die takes stock for an order that nobody goes on to place.
func (c *customers) die(p *process, name string, cola int) {
	_, err := p.fast.Stock.Deduct(p.ctx, order.Basket{ID: c.id(p, name), Version: 1, Cabinet: cabinet, User: "u-" + name, Items: []order.Item{{SKU: "cola", Qty: cola}}})
	c.expected(name, err)
}

// unknown reports whether nobody knows what became of the request: the process
// died, or was too slow to say.
func unknown(err error) bool {
	var slow net.Error
	return errors.Is(err, errKilled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout()
}

// expected are the noes that a customer may hear in the course of events.
func (c *customers) expected(name string, err error) {
	var no *order.Refusal
	var state *order.StateError
	switch {
	case err == nil, unknown(err), errors.As(err, &state), errors.Is(err, order.ErrUnknown), errors.Is(err, order.ErrNotLoaded):
	case errors.As(err, &no) && slices.Contains([]wire.Code{wire.CodeOrderReleased, wire.CodeStockShort, wire.CodeIdempotencyConflict}, no.Code):
	default:
		c.say("%s: %v", name, err)
	}
}

// once is true the first time.
func (c *customers) once(event string) bool {
	if c.events[event] {
		return false
	}
	c.events[event] = true
	return true
}
