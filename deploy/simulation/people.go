package simulation

import (
	"errors"
	"fmt"

	"vendline/cloud/order"
	"vendline/cloud/payment"
	"vendline/shared/wire"
)

// people are shoppers. They remember what they were told, and ask again under
// the same ids.
type people struct {
	w     *world
	ids   []string // of orders asked for, oldest first
	asked map[string]order.Request
	first map[string]order.Order // the first yes
	heard map[string]bool        // callbacks that were answered yes
}

func newPeople(w *world) *people {
	return &people{w: w, asked: map[string]order.Request{}, first: map[string]order.Order{}, heard: map[string]bool{}}
}

// some is one of the latest orders.
func (s *people) some() (string, bool) {
	if len(s.ids) == 0 {
		return "", false
	}
	n := min(len(s.ids), 12)
	return s.ids[len(s.ids)-1-s.w.rng.IntN(n)], true
}

func (s *people) basket() (string, string, []wire.Line) {
	w := s.w
	return w.cabinets[w.rng.IntN(len(w.cabinets))].id, fmt.Sprint("u", w.rng.IntN(6)), lines(1+w.rng.IntN(2), w.rng.IntN(2))
}

// place orders with a phone. A second time it must be told what it was first told.
func (s *people) place(p *cloud, id string) {
	r, again := s.asked[id]
	if !again {
		cabinet, user, ls := s.basket()
		r = order.Request{ID: id, Cabinet: cabinet, User: user, Lines: ls}
		s.asked[id] = r
		s.ids = append(s.ids, id)
	}
	s.w.begin("order", p, func() {
		o, _, err := p.orders.Place(s.w.ctx, r)
		s.w.trace("user", fmt.Sprintf("orders %s at %s:%s", tail(id), r.Cabinet, text(r.Lines)), said(err))
		first, heard := s.first[id]
		var no *order.Refusal
		switch {
		case p.dead:
		case err == nil && !heard:
			s.first[id] = o
		case err == nil && !o.SameContent(first):
			s.w.say("%s was first told %+v, then %+v", id, first, o)
		case errors.As(err, &no) && heard && !no.Code.Retryable():
			s.w.say("%s was told yes, then %v", id, no)
		case err != nil && no == nil && !s.unknown(err):
			s.w.say("an order is answered %v", err)
		}
	})
}

// unknown reports whether err says that nobody knows what became of a request.
func (s *people) unknown(err error) bool { return errors.Is(err, errKilled) || errors.Is(err, errAway) }

// expected are the noes that somebody may hear in the course of events.
func (s *people) expected(what string, err error) {
	var no *order.Refusal
	var state *order.StateError
	if err != nil && !s.unknown(err) && !errors.As(err, &no) && !errors.As(err, &state) && !errors.Is(err, order.ErrUnknown) && !errors.Is(err, order.ErrNotLoaded) {
		s.w.say("%s is answered %v", what, err)
	}
}

// pay goes to the till, and pays there, or does not.
func (s *people) pay(p *cloud, id string) {
	s.w.begin("pay", p, func() {
		_, err := p.money.Start(s.w.ctx, id, "till")
		s.w.trace("user", "goes to the till with "+tail(id), said(err))
		s.expected("going to the till", err)
	})
}

func (s *people) give(id string) {
	if s.w.till.pay(payment.TradeNo(id)) {
		s.w.trace("user", "pays "+tail(id), "ok")
	}
}

// callback is the till telling of a payment, until it is heard.
func (s *people) callback(p *cloud, id string) {
	n, paid := s.w.till.callback(payment.TradeNo(id))
	if !paid || s.heard[id] && !s.w.fire(CallbackTwo, 3) {
		return
	}
	if s.w.fire(CallbackLost, 4) {
		s.w.trace("till", "callback "+tail(id), "lost")
		return
	}
	s.w.begin("callback", p, func() {
		a, err := p.money.Notify(s.w.ctx, "till", n)
		s.w.trace("till", "callback "+tail(id), said(err))
		s.expected("a callback", err)
		if err == nil && a.Status == 200 && !p.dead {
			s.heard[id] = true
		}
	})
}

func (s *people) cancel(p *cloud, id string) {
	s.w.begin("cancel", p, func() {
		_, err := p.orders.Cancel(s.w.ctx, id)
		s.w.trace("user", "cancels "+tail(id), said(err))
		s.expected("cancelling", err)
	})
}

// retry takes a rolled-back order's basket again.
func (s *people) retry(p *cloud, id string) {
	s.w.begin("retry", p, func() {
		o, err := p.orders.Get(s.w.ctx, id)
		if err != nil || o.Status != order.RolledBack || o.Orphan {
			return
		}
		_, err = p.orders.Retry(s.w.ctx, o)
		s.w.trace("user", "takes again "+tail(id), said(err))
		s.expected("taking again", err)
	})
}

// scans is an order made at the cabinet.
func (s *people) scans() {
	id := s.w.id()
	cabinet, user, ls := s.basket()
	s.ids = append(s.ids, id)
	s.w.cabinet(cabinet).order(id, user, ls)
}
