package pathtest

import "testing"

// A harness that cannot fail proves nothing: each rule that is left out must
// make some history red.
func TestTheHarnessNoticesARuleThatIsLeftOut(t *testing.T) {
	for name, out := range map[string]faults{
		"the generation is not checked":                {anyGeneration: true},
		"statements are added up as commands":          {commands: true},
		"a row goes with SendOK, and the ack is first": {rowGoesOnSend: true, ackFirst: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(60) {
				if wrong := play(t, seed, setting{faults: out}); len(wrong) > 0 {
					t.Logf("seed %d: %s", seed, wrong[0])
					return
				}
			}
			t.Error("no history notices")
		})
	}
}

// Without tickets both sides still end exact, but at the cost of holds that
// were promised: a Redis that went back in time is told by nobody.
func TestTheFirstOrderAfterALossTellsItByItsTicket(t *testing.T) {
	for _, c := range []struct {
		faults faults
		lost   bool
	}{{faults{}, false}, {faults{anyTicket: true}, true}} {
		s, c1 := newSite(t), newCustomers()
		s.faults = c.faults
		p := s.start(nil)
		defer p.end()
		c1.place(p, "first", 1, 0)
		before := p.dump()
		for _, name := range []string{"ann", "bob", "cid", "dan", "eve"} {
			c1.place(p, name, 2, 0)
		}
		p.restore(before) // eleven of twelve are sold; Redis knows of one
		for _, name := range []string{"fay", "gus", "hal", "ida", "joe"} {
			c1.place(p, name, 2, 0)
		}
		p.pump(nil)
		p.pump(nil)
		if lost := s.lost(); (lost > 0) != c.lost {
			t.Errorf("%+v: %d holds were taken back", c.faults, lost)
		}
		if c.lost { // fenced in the end, by whoever reconciles
			s.ok(p.books.Draw(s.ctx, cabinet, s.generation()))
		}
		p.quiet()
		for _, w := range p.verdict(c1) {
			t.Errorf("%+v: %s", c.faults, w)
		}
	}
}
