package deducttest

import (
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"vendline/cloud/deduct"
	"vendline/cloud/effect"
	"vendline/cloud/fence"
	"vendline/cloud/order"
)

// Property plays random histories of few orders, facts and SKUs on a cabinet
// of its own, and compares every answer and the whole state after each step
// with the reference.
func Property(f *Fixture) func(*rapid.T) {
	cabinets := 0
	return func(t *rapid.T) {
		cabinets++
		mine := f.sibling("-" + strconv.Itoa(cabinets))
		mine.t = t
		p := &player{f: mine, users: []string{"ann", "bob"}}
		p.load(t)
		t.Repeat(map[string]func(*rapid.T){
			"deduct":  p.deduct,
			"retry":   p.retry,
			"release": p.release,
			"adjust":  p.adjust,
			"settle":  p.settle,
			"load":    func(t *rapid.T) { p.loadSometimes(t) },
			"":        p.compare,
		})
	}
}

// player holds a cabinet beside its reference.
type player struct {
	f     *Fixture
	ref   reference
	users []string
}

var (
	orderIDs = rapid.SampledFrom([]string{"o1", "o2", "o3"})
	factIDs  = rapid.SampledFrom([]string{"f1", "f2", "o3"}) // one of them is an order's
	versions = rapid.Int64Range(1, 5)
	skus     = rapid.SampledFrom([]string{"cola", "tea"})
)

// content is the basket of an order: mostly its own, at times another's.
func (p *player) content(t *rapid.T, id string) (user string, items []order.Item) {
	n := int(id[1] - '0')
	if rapid.IntRange(0, 9).Draw(t, "other content") == 0 {
		n = rapid.IntRange(0, 9).Draw(t, "content")
	}
	user = p.users[n%2]
	switch n % 5 {
	case 0:
		items = []order.Item{item("cola", 1), item("unsold", 1)}
	case 1:
		items = []order.Item{atMost(3, "cola", 2)}
	case 2:
		items = []order.Item{item("cola", 1), item("tea", 2)}
	case 3:
		items = []order.Item{item("cola", 2), atMost(2, "tea", 1)}
	case 4:
		items = []order.Item{item("cola", 1000)}
	}
	return user, items
}

func (p *player) deduct(t *rapid.T) {
	id := orderIDs.Draw(t, "id")
	b := order.Basket{ID: id, Version: versions.Draw(t, "version"), Cabinet: p.f.Cabinet}
	b.User, b.Items = p.content(t, id)
	p.ask(t, b)
}

// retry asks again for what is known, at its version or a newer one.
func (p *player) retry(t *rapid.T) {
	id := orderIDs.Draw(t, "id")
	b := order.Basket{ID: id, Version: p.ref.marks[id].version + rapid.Int64Range(0, 1).Draw(t, "newer"), Cabinet: p.f.Cabinet}
	if b.Version == 0 {
		b.Version = 1
	}
	b.User, b.Items = p.content(t, id)
	p.ask(t, b)
}

func (p *player) ask(t *rapid.T, b order.Basket) {
	got, err := p.f.Stock.Deduct(t.Context(), b)
	heard := refReply{yes, got.Ticket}
	if got.Seen {
		heard.code = seen
	}
	if got.Released {
		heard.code = released
	}
	p.check(t, fmt.Sprintf("deduct %+v", b), heard, got.Generation, err, p.ref.deduct(b))
}

func (p *player) release(t *rapid.T) {
	id := orderIDs.Draw(t, "id")
	user, items := p.content(t, id)
	e := effect.Release{ID: id, Cabinet: p.f.Cabinet, User: user, Version: versions.Draw(t, "version"), Lines: linesOf(items)}
	got := p.f.Stock.Release(t.Context(), []effect.Release{e})[0]
	p.check(t, fmt.Sprintf("release %+v", e), refReply{yes, got.Run.Ticket}, got.Run.Generation, got.Err, p.ref.release(e))
}

func (p *player) adjust(t *rapid.T) {
	a := effect.Adjust{ID: factIDs.Draw(t, "id"), Cabinet: p.f.Cabinet,
		Deltas: []effect.Delta{{SKU: skus.Draw(t, "sku"), Units: rapid.Int64Range(-3, 3).Draw(t, "units")}}}
	got := p.f.Stock.Adjust(t.Context(), []effect.Adjust{a})[0]
	p.check(t, fmt.Sprintf("adjust %+v", a), refReply{yes, got.Run.Ticket}, got.Run.Generation, got.Err, p.ref.adjust(a))
}

func (p *player) settle(t *rapid.T) {
	done := []deduct.Settled{{Cabinet: p.f.Cabinet, ID: orderIDs.Draw(t, "id"), Version: versions.Draw(t, "version")}}
	if err := p.f.Stock.Settle(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	p.ref.settle(done)
}

func (p *player) loadSometimes(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "rebuild") > 0 {
		t.Skip("not yet")
	}
	p.load(t)
}

// load rebuilds from any ledger there may be.
func (p *player) load(t *rapid.T) {
	s := fence.Snapshot{Sellable: units{"cola": rapid.Int64Range(-1, 6).Draw(t, "cola"), "tea": rapid.Int64Range(0, 4).Draw(t, "tea")}}
	for _, id := range []string{"o1", "o2"} {
		if rapid.Bool().Draw(t, "has order") {
			user, items := p.content(t, id)
			s.Marks = append(s.Marks, fence.Mark{ID: id, Held: rapid.Bool().Draw(t, "held"), Version: versions.Draw(t, "version"), User: user,
				Lines: linesOf(items), Unknown: rapid.Bool().Draw(t, "unknown"), Limited: rapid.Bool().Draw(t, "limited"), At: p.f.Clock.Now().UnixMilli()})
		}
	}
	if rapid.Bool().Draw(t, "has fact") {
		s.Done = []string{"f1"}
	}
	before := p.ref.mut
	p.f.loadSnapshot(&s)
	mut := p.f.look().Mutations
	if mut <= before {
		t.Fatalf("the counter went from %d to %d over a load", before, mut)
	}
	p.ref.load(s, mut)
}
