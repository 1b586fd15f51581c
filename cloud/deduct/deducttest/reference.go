package deducttest

import (
	"maps"
	"slices"

	"vendline/cloud/deduct"
	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// reference is the rules of the stock in plain Go: what the scripts must do,
// told a second time without Redis.
type reference struct {
	generation string
	mut        int64
	ticket     int64
	stock      units
	marks      map[string]refMark
	resv       map[string]int64          // id → version
	limits     map[string]map[string]int // user → SKU → units
}

type refMark struct {
	state   string
	version int64
	ticket  int64
	user    string
	lines   []wire.Line
	counted bool // towards the user's limit
}

// refReply is what a caller hears: a code for yes, seen and each refusal.
type refReply struct {
	code   string
	ticket int64
}

const (
	yes      = "yes"
	seen     = "seen"
	released = "seen, released"
)

func (r *reference) deduct(b order.Basket) refReply {
	lines := linesOf(b.Items)
	m, known := r.marks[b.ID]
	if known && (m.state == deduct.Done || m.user != b.User || !slices.Equal(m.lines, lines)) {
		return refReply{code: string(wire.CodeIdempotencyConflict)}
	}
	if known && m.version >= b.Version {
		if m.state == deduct.Held {
			return refReply{seen, m.ticket}
		}
		return refReply{released, m.ticket}
	}
	if known && m.state == deduct.Held { // held → held takes nothing
		m.version = b.Version
		r.marks[b.ID], r.resv[b.ID] = m, b.Version
		r.mut++
		return refReply{yes, m.ticket}
	}
	if no := r.admits(b); no != "" {
		return refReply{code: string(no)}
	}
	limited := slices.ContainsFunc(b.Items, func(i order.Item) bool { return i.Limit > 0 })
	for _, i := range b.Items {
		r.stock[i.SKU] -= int64(i.Qty)
		if limited {
			r.count(b.User, i.SKU, i.Qty)
		}
	}
	r.mut++
	r.ticket++
	r.marks[b.ID] = refMark{deduct.Held, b.Version, r.ticket, b.User, lines, limited}
	r.resv[b.ID] = b.Version
	return refReply{yes, r.ticket}
}

// admits is the validation, in the order of its answers.
func (r *reference) admits(b order.Basket) wire.Code {
	for _, i := range b.Items {
		if i.Qty < 1 || i.Qty > wire.MaxQty {
			return wire.CodeInvalidRequest
		}
	}
	for _, i := range b.Items {
		if _, sold := r.stock[i.SKU]; !sold {
			return wire.CodeSKUUnknown
		}
	}
	for _, i := range b.Items {
		if r.stock[i.SKU] < int64(i.Qty) {
			return wire.CodeStockShort
		}
	}
	for _, i := range b.Items {
		if i.Limit > 0 && r.limits[b.User][i.SKU]+i.Qty > i.Limit {
			return wire.CodePurchaseLimit
		}
	}
	return ""
}

func (r *reference) count(user, sku string, qty int) {
	if r.limits[user] == nil {
		r.limits[user] = make(map[string]int)
	}
	r.limits[user][sku] += qty
}

func (r *reference) release(e effect.Release) refReply {
	m, known := r.marks[e.ID]
	if known && m.state == deduct.Done {
		return refReply{code: string(wire.CodeIdempotencyConflict)}
	}
	if known && m.version >= e.Version {
		return refReply{code: yes}
	}
	if known && m.state == deduct.Held {
		for _, l := range m.lines {
			r.stock[l.SKU] += int64(l.Qty)
			if m.counted && m.user == e.User {
				r.count(m.user, l.SKU, -l.Qty)
			}
		}
	}
	r.mut++
	r.marks[e.ID] = refMark{state: deduct.Released, version: e.Version, user: e.User, lines: e.Lines}
	delete(r.resv, e.ID)
	return refReply{code: yes}
}

func (r *reference) adjust(a effect.Adjust) refReply {
	if m, known := r.marks[a.ID]; known {
		if m.state != deduct.Done {
			return refReply{code: string(wire.CodeIdempotencyConflict)}
		}
		return refReply{yes, m.ticket}
	}
	var lines []wire.Line
	for _, d := range a.Deltas {
		r.stock[d.SKU] += d.Units
		lines = append(lines, wire.Line{SKU: d.SKU, Qty: int(d.Units)})
	}
	r.mut++
	r.ticket++
	r.marks[a.ID] = refMark{state: deduct.Done, version: 1, ticket: r.ticket, lines: lines}
	return refReply{yes, r.ticket}
}

func (r *reference) settle(done []deduct.Settled) {
	before := len(r.resv)
	for _, d := range done {
		if version, listed := r.resv[d.ID]; listed && version <= d.Version {
			delete(r.resv, d.ID)
		}
	}
	if len(r.resv) < before {
		r.mut++
	}
}

// load replaces everything; the counter it reaches is Redis's own choice.
func (r *reference) load(s fence.Snapshot, mut int64) {
	*r = reference{generation: s.Generation, mut: mut, stock: maps.Clone(s.Sellable),
		marks: make(map[string]refMark), resv: make(map[string]int64), limits: make(map[string]map[string]int)}
	for _, m := range s.Marks {
		mark := refMark{state: deduct.Released, version: m.Version, user: m.User, lines: m.Lines}
		if m.Held {
			mark.state, mark.counted = deduct.Held, m.Limited
			if m.Unknown {
				r.resv[m.ID] = m.Version
			}
			for _, l := range m.Lines {
				if m.Limited {
					r.count(m.User, l.SKU, l.Qty)
				}
			}
		}
		r.marks[m.ID] = mark
	}
	for _, id := range s.Done {
		r.marks[id] = refMark{state: deduct.Done, version: 1}
	}
}

func linesOf(items []order.Item) []wire.Line {
	lines := make([]wire.Line, len(items))
	for i, item := range items {
		lines[i] = wire.Line{SKU: item.SKU, Qty: item.Qty}
	}
	return lines
}
