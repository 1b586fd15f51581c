package uplink

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vendline/shared/wire"
)

// TestABarrierIsAloneWhateverTheWindow plays random histories of a window: rows
// that are answered, put off, parked and sent again over connections that come
// and go, with counts among them. A count must find everything before it
// answered or parked, nothing may overtake it, and everything must get through.
func TestABarrierIsAloneWhateverTheWindow(t *testing.T) {
	for seed := range uint64(400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			play(t, rand.New(rand.NewPCG(seed, 7)))
		})
	}
}

func play(t *testing.T, rng *rand.Rand) {
	const rows = 60
	bars := make([]bool, rows+1)
	for seq := 1; seq <= rows; seq++ {
		bars[seq] = rng.IntN(6) == 0
	}
	settled := make([]bool, rows+1)
	w := newWindow(1+rng.IntN(12), 5*time.Second, time.Minute, rng.Float64)
	now := time.Duration(0)
	launched := func(seq int64) {
		for before := int64(1); before < seq; before++ {
			if !settled[before] && (bars[seq] || bars[before]) {
				t.Fatalf("row %d (barrier %v) is on its way before row %d (barrier %v) was answered", seq, bars[seq], before, bars[before])
			}
		}
	}
	for step := 0; !allSettled(settled); step++ {
		if step > 100_000 {
			t.Fatalf("locked up: window %+v, settled %v", w, settled)
		}
		for _, seq := range w.take(now, 64) {
			launched(seq)
		}
		for n := w.room(); n > 0 && w.last < rows; n-- {
			seq := w.last + 1
			if !w.add(seq, bars[seq], now) {
				break
			}
			launched(seq)
		}
		if len(w.flights) == 0 {
			t.Fatalf("nothing is on its way, and %d rows wait", rows-int(w.last))
		}
		f := w.flights[rng.IntN(len(w.flights))]
		switch rng.IntN(5) {
		case 0: // the cloud says: later
			w.hold(f.seq, wire.CodeFenced, "", now)
		case 1:
			w.restart(now)
		case 2:
			now += time.Duration(rng.IntN(70)) * time.Second
		default: // answered or parked; the window can not tell, and need not
			if f.sent {
				settled[f.seq] = true
				w.settled(f.seq)
			}
		}
	}
}

func allSettled(settled []bool) bool { return !slices.Contains(settled[1:], false) }

func TestACountWaitsForARowThatIsPutOffAndNotForOneThatIsParked(t *testing.T) {
	w := testWindow(8)
	w.add(1, false, 0)
	w.add(2, false, 0)
	w.hold(1, wire.CodeFenced, "rebuilding", 0)
	w.settled(2) // parked, say
	if w.add(3, true, 0) {
		t.Fatal("a count overtook a row that the cloud put off")
	}
	w.settled(1)
	if !w.add(3, true, 0) || w.room() != 0 || w.add(4, false, 0) {
		t.Fatal("then it goes, alone")
	}
	w.hold(3, wire.CodeFenced, "rebuilding", 0)
	if w.room() != 0 {
		t.Fatal("a count that was put off was overtaken")
	}
	w.settled(3)
	if w.room() == 0 || !w.add(4, false, 0) {
		t.Fatal("the rest never flows")
	}
}
