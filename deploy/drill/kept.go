package drill

import (
	"encoding/json"
	"slices"

	"vendline/shared/wire"
)

// accepted is a phone's 201, as far as it is a promise.
type accepted struct {
	Order struct {
		ID        string      `json:"id"`
		Cabinet   string      `json:"cabinet"`
		User      string      `json:"user"`
		Amount    int64       `json:"amount"`
		Currency  string      `json:"currency"`
		Lines     []priceLine `json:"lines"`
		CreatedAt jsonTime    `json:"created_at"`
		ExpiresAt jsonTime    `json:"expires_at"`
	} `json:"order"`
}

type priceLine struct {
	SKU   string `json:"sku"`
	Qty   int64  `json:"qty"`
	Price int64  `json:"price"`
}

// phoneKept compares every 201, field by field, with the order's row.
func phoneKept(e evidence, broken report) {
	for _, ev := range e.events {
		if ev.Kind != Phone || ev.Outcome != Yes {
			continue
		}
		var a accepted
		if err := json.Unmarshal(ev.Reply, &a); err != nil {
			broken(ev.ID, ev.Fault, "the reply is no order: %v: %s", err, ev.Reply)
			continue
		}
		o, ok := e.orders[ev.ID]
		if !ok {
			broken(ev.ID, ev.Fault, "LOST: accepted at %s, not in MySQL", ev.Since)
			continue
		}
		said := OrderRow{ID: a.Order.ID, Cabinet: a.Order.Cabinet, User: a.Order.User, Amount: a.Order.Amount, Currency: a.Order.Currency,
			Created: int64(a.Order.CreatedAt), Expires: int64(a.Order.ExpiresAt)}
		for _, l := range a.Order.Lines {
			said.Lines = append(said.Lines, OrderLine(l))
		}
		if !sameOrder(said, o) {
			broken(ev.ID, ev.Fault, "accepted as %+v, MySQL has %+v", said, o)
		}
		if !e.asked(ev, o) {
			broken(ev.ID, ev.Fault, "asked for %+v, MySQL has %+v", ev, o)
		}
		if o.Orphan {
			broken(ev.ID, ev.Fault, "accepted, but MySQL has it as a placement that died")
		}
	}
}

func sameOrder(a, b OrderRow) bool {
	return a.ID == b.ID && a.Cabinet == b.Cabinet && a.User == b.User && a.Amount == b.Amount && a.Currency == b.Currency &&
		a.Created == b.Created && a.Expires == b.Expires && slices.Equal(a.Lines, b.Lines)
}

// asked reports whether an order's row is what was asked for, at today's price.
// An orphan was given back before anybody knew its price.
func (e evidence) asked(ev Event, o OrderRow) bool {
	amount := int64(0)
	lines := make([]OrderLine, len(ev.Lines))
	for i, l := range ev.Lines {
		lines[i] = OrderLine{SKU: l.SKU, Qty: int64(l.Qty), Price: e.plan.Price(l.SKU)}
		if o.Orphan {
			lines[i].Price = 0
		}
		amount += lines[i].Price * lines[i].Qty
	}
	return o.Cabinet == ev.Cabinet && o.User == ev.User && o.Amount == amount && slices.Equal(lines, o.Lines)
}

// scanKept: what an agent said 202 to is decided, and the cabinet knows how.
func scanKept(e evidence, broken report) {
	for _, ev := range e.events {
		if ev.Kind != Scan || ev.Outcome != Yes {
			continue
		}
		v := e.state.Agents[ev.Cabinet].Verdicts[ev.ID]
		o, placed := e.orders[ev.ID]
		switch {
		case v.Status == "accepted" && !placed:
			broken(ev.ID, ev.Fault, "LOST: the cabinet heard yes, MySQL has no order")
		case v.Status == "accepted" && o.Orphan:
			broken(ev.ID, ev.Fault, "the cabinet heard yes, MySQL has it as a placement that died")
		case v.Status == "refused" && (v.Code == "" || v.Code.Retryable()):
			broken(ev.ID, ev.Fault, "refused with %q, which is no final answer", v.Code)
		case v.Status != "accepted" && v.Status != "refused":
			broken(ev.ID, ev.Fault, "LOST: acknowledged at %s, its agent says %q (%s), in MySQL: %v", ev.Since, v.Status, v.Code, placed)
		}
		if placed && !e.asked(ev, o) {
			broken(ev.ID, ev.Fault, "asked for %+v, MySQL has %+v", ev, o)
		}
	}
}

// factKept: what happened is recorded, once, as it was reported.
func factKept(e evidence, broken report) {
	type place struct {
		cabinet, epoch string
		seq            int64
	}
	at := map[place]string{}
	for _, f := range e.state.Facts {
		if f.Epoch == "" {
			continue // of the cloud's own
		}
		p := place{f.Cabinet, f.Epoch, f.Seq}
		if other, twice := at[p]; twice {
			broken(f.ID, "", "it has the place of %s in the cabinet's history", other)
		}
		at[p] = f.ID
	}
	for _, ev := range e.events {
		if ev.Kind != Restock || ev.Outcome != Yes {
			continue
		}
		f, ok := e.facts[ev.ID]
		switch {
		case !ok:
			broken(ev.ID, ev.Fault, "LOST: acknowledged at %s, not in MySQL", ev.Since)
		case f.Cabinet != ev.Cabinet || f.Kind != "RESTOCK" || !slices.Equal(f.Lines, ev.Lines):
			broken(ev.ID, ev.Fault, "reported as %+v, MySQL has %+v", ev, f)
		case e.state.Agents[ev.Cabinet].Verdicts[ev.ID].Status != string(wire.Accepted):
			broken(ev.ID, ev.Fault, "in MySQL, but its agent says %+v", e.state.Agents[ev.Cabinet].Verdicts[ev.ID])
		}
	}
}

// stockFact reports whether a fact of this kind brings units that somebody put
// in or took out; the others are the cloud's own, or bring none.
func stockFact(kind string) bool { return kind == "RESTOCK" || kind == "SALE" }

// nothingFromNowhere: all there is was asked for, in these very words. An order
// may exist though its asker never heard of it; not one that has no asker.
func nothingFromNowhere(e evidence, broken report) {
	byID := map[string]Event{}
	for _, ev := range e.events {
		byID[ev.ID] = ev
	}
	for _, o := range e.state.Orders {
		if ev, ok := byID[o.ID]; !ok || ev.Kind == Restock || !e.asked(ev, o) {
			broken(o.ID, ev.Fault, "MySQL has the order %+v, the book %+v", o, ev)
		}
	}
	for _, f := range e.state.Facts {
		if ev, ok := byID[f.ID]; stockFact(f.Kind) && (!ok || ev.Kind != Restock) {
			broken(f.ID, ev.Fault, "MySQL has the fact %+v, the book %+v", f, ev)
		}
	}
}
