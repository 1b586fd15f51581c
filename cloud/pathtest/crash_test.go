package pathtest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"vendline/cloud/statement"
)

// points are the steps between which a process can die, with something durable
// on one side and nothing yet on the other.
var points = [...]string{
	"before deduct", "after deduct", // the hold is known to Redis alone
	"before order commit", "after order commit", // … before the reply
	"before transition commit", "after transition commit",
	"before fact commit", "after fact commit",
	"before claim", "after claim",
	"before send", "after send",
	"before row delete", "after row delete", // a timer row that the queue has already
	"before apply", "after apply", // … before the ack
	"before ack", "after ack", // … before the settle
	"before settle", "after settle",
	"before release", "after release", // … before the row goes
	"before adjust", "after adjust",
	"before finish effects", "after finish effects",
	"before fence drawn", "after fence drawn",
	"before load", "after load", // … before the token's commit
	"before rebuild", "after rebuild",
	"before orphan settle", "after orphan settle", // … before Redis hears of it
	"before shortage", "after shortage",
	"before wake", "after wake", // the command is written, and maybe nobody was told
	"before offer", "after offer", // … the cabinet may vend it, and maybe never heard of it
	"before report commit", "after report commit", // … before the cabinet's ack
	"before abandon", "after abandon", // … before the row's next lease
}

// story meets every step of the path. Told again after a crash, its customers
// ask for the same things under the same ids.
func story(p *process, c *customers) {
	for _, happens := range []func(){
		func() { c.place(p, "ann", 2, 1) },
		func() { c.place(p, "bob", 1, 0) },
		func() { c.place(p, "cid", 0, 2) },
		func() { p.pump(nil) },
		func() { c.pay(p, "ann") },
		func() { c.cancel(p, "bob") },
		func() { c.retry(p, "bob") }, // overtakes its own release
		func() { c.cancel(p, "cid") },
		func() { p.pump(nil) },
		func() { c.retry(p, "cid") },
		func() { c.fact(p, "refill", statement.Restock, 5, 0) },
		func() { c.fact(p, "sold", statement.Sale, 0, 1) },
		func() { p.pump(nil) },
		func() { // Redis fails over to a replica that had not heard of dan
			if c.once("loss") {
				old := p.dump()
				c.place(p, "dan", 1, 0)
				p.restore(old)
			}
		},
		func() { c.place(p, "eve", 3, 0) },
		func() { p.pump(nil) },
		func() { c.die(p, "fay", 2) },
		func() { p.site.pass(time.Minute) },
		func() { p.pump(nil) },
		func() { c.fact(p, "looted", statement.Sale, 0, 9) },
		func() { p.pump(nil) },
		func() { p.pump(nil) },
		func() { c.place(p, "gil", 1, 0) },
		func() { c.pay(p, "gil") },
		func() { p.site.machine.off = true },
		func() { p.site.pass(3 * time.Minute) },
		func() { p.pump(nil) },
		func() { p.site.machine.off = false },
		func() { p.pump(nil) },
		func() { c.place(p, "ann", 2, 1) }, // replays
		func() { c.place(p, "fay", 2, 0) },
	} {
		if p.killed() {
			return
		}
		happens()
	}
}

func TestTheStoryMeetsEveryPointAndEndsExact(t *testing.T) {
	s, c := newSite(t), newCustomers()
	p := s.start(nil)
	defer p.end()
	story(p, c)
	for _, point := range points {
		if p.hits[point] == 0 {
			t.Errorf("nothing happens %s", point)
		}
	}
	for point := range maps.Keys(p.hits) {
		if !slices.Contains(points[:], point) {
			t.Errorf("%q is no point of the list", point)
		}
	}
	p.quiet()
	for _, w := range p.verdict(c) {
		t.Error(w)
	}
}

// A process that dies at any point, each time it passes there: the next one,
// over the same stores, converges, whether customers ask again at once or only
// when the sweep has been there before them.
func TestAProcessMayDieAtAnyPoint(t *testing.T) {
	for i, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			hit := 1
			for dies(t, point, hit, (i+hit)%2 == 0) && !testing.Short() {
				hit++ // until the story passes there no more often
			}
		})
	}
}

// dies kills the story's process at a point, and checks what the next makes of
// it. false: the story ended before.
func dies(t *testing.T, point string, hit int, sweptFirst bool) bool {
	t.Helper()
	s, c := newSite(t), newCustomers()
	p := s.start(func(at string, n int) bool { return at == point && n == hit })
	story(p, c)
	died := p.killed()
	p.end()
	next := s.start(nil)
	defer next.end()
	if sweptFirst {
		s.pass(time.Minute)
		next.pump(nil)
	}
	story(next, c)
	next.quiet()
	for _, w := range next.verdict(c) {
		t.Errorf("killed %s, time %d, swept first %v: %s", point, hit, sweptFirst, w)
	}
	return died
}
