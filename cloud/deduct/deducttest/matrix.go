package deducttest

import (
	"vendline/cloud/deduct"
	"vendline/shared/wire"
)

// before is how an order's marker may stand: its stock is 10 without it.
type before struct {
	name  string
	set   func(f *Fixture)
	taken int64 // units the marker holds
}

var states = [...]before{
	{"none", func(*Fixture) {}, 0},
	{"held v3", func(f *Fixture) { f.take("o", 3, item("cola", 2)) }, 2},
	{"released v3", func(f *Fixture) { f.release("o", 3, wire.Line{SKU: "cola", Qty: 2}) }, 0},
	{"held then released v3", func(f *Fixture) {
		f.take("o", 2, item("cola", 2))
		f.release("o", 3, wire.Line{SKU: "cola", Qty: 2})
	}, 0},
}

// outcome is what a marker has become: state, version, units held.
type outcome struct {
	state   string
	version int64
	taken   int64
}

func deductMatrix(t T, f *Fixture) {
	for _, s := range states {
		for version := int64(2); version <= 4; version++ {
			want := outcome{deduct.Held, version, 2}
			seen := s.name != "none" && version <= 3
			if seen {
				want = outcome{deduct.Released, 3, s.taken}
				if s.taken > 0 {
					want.state = deduct.Held
				}
			}
			f.load(units{"cola": 10})
			s.set(f)
			before := f.look("o").Marks["o"]
			mut := f.look().Mutations
			got := f.take("o", version, item("cola", 2))
			if got.Seen != seen || got.Released != (seen && want.state == deduct.Released) {
				t.Errorf("%s, deduct v%d: %+v", s.name, version, got)
			}
			if before.State == deduct.Held && got.Ticket != before.Ticket {
				t.Errorf("%s, deduct v%d: ticket %d, the first was %d", s.name, version, got.Ticket, before.Ticket)
			}
			f.became(t, s.name, "deduct", version, want, mut, !seen)
		}
	}
}

func releaseMatrix(t T, f *Fixture) {
	for _, s := range states {
		for version := int64(2); version <= 4; version++ {
			want := outcome{deduct.Released, version, 0}
			ignored := s.name != "none" && version <= 3
			if ignored {
				want = outcome{deduct.Released, 3, s.taken}
				if s.taken > 0 {
					want.state = deduct.Held
				}
			}
			f.load(units{"cola": 10})
			s.set(f)
			mut := f.look().Mutations
			if got := f.release("o", version, wire.Line{SKU: "cola", Qty: 2}); got.Ticket != 0 {
				t.Errorf("%s, release v%d drew ticket %d", s.name, version, got.Ticket)
			}
			f.became(t, s.name, "release", version, want, mut, !ignored)
		}
	}
}

// became compares the order's marker, its stock, its place in resv and the
// mutation counter with what they should be.
func (f *Fixture) became(t T, was, op string, version int64, want outcome, mut int64, moved bool) {
	t.Helper()
	v := f.look("o")
	m := v.Marks["o"]
	if got := (outcome{m.State, m.Version, 10 - v.Sellable["cola"]}); got != want {
		t.Errorf("%s, %s v%d: %+v, want %+v", was, op, version, got, want)
	}
	if r, listed := v.Reserved["o"]; listed != (want.state == deduct.Held) || listed && r.Version != want.version {
		t.Errorf("%s, %s v%d: resv %v %+v", was, op, version, listed, r)
	}
	if moved {
		mut++
	}
	if v.Mutations != mut {
		t.Errorf("%s, %s v%d: counter %d, want %d", was, op, version, v.Mutations, mut)
	}
}
