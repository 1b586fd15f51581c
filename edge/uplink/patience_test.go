package uplink

import (
	"math/rand/v2"
	"testing"
	"time"
)

func testPatience(jitter func() float64) *patience {
	var t Timing
	t.fill()
	return &patience{t: t, jitter: jitter}
}

func top() float64 { return 0.999999 }

func TestWaitsForABrokerThatIsDownGrowToAMinute(t *testing.T) {
	p := testPatience(top)
	last := time.Duration(0)
	for range 20 {
		w := p.failed()
		if w < last || w > time.Minute {
			t.Fatalf("%v after %v", w, last)
		}
		last = w
	}
	if last < 59*time.Second {
		t.Fatalf("grows to %v only", last)
	}
	if p.conflict() {
		t.Fatal("a broker that is down is no second agent")
	}
}

func TestAHerdComesBackSpreadOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var buckets [4]int
	for range 1000 {
		p := testPatience(rng.Float64)
		w := p.lost(time.Hour)
		buckets[int(w*4/p.t.Reconnect)]++
	}
	for i, n := range buckets {
		if n < 150 {
			t.Errorf("quarter %d of the spread has %d of 1000 cabinets", i, n)
		}
	}
}

func TestTakeoversInARowAreAConflictAndBackOff(t *testing.T) {
	p := testPatience(half)
	if p.lost(time.Second); p.conflict() {
		t.Fatal("one loss is no conflict")
	}
	p.lost(time.Second)
	last := p.lost(time.Second)
	if !p.conflict() {
		t.Fatal("three takeovers went unnoticed")
	}
	for range 12 {
		// The other agent leaves us alone for as long as it waits itself.
		w := p.lost(p.span)
		if w < last || !p.conflict() {
			t.Fatalf("waits %v after %v, conflict %v", w, last, p.conflict())
		}
		last = w
	}
	if last < 2*time.Minute || last > 5*time.Minute {
		t.Fatalf("backs off to %v", last)
	}
	if p.failed(); !p.conflict() {
		t.Fatal("a failed connect in a fight ends it")
	}
	if p.lost(time.Hour); p.conflict() {
		t.Fatal("a long life does not end it")
	}
}

func TestABrokerThatRestartsIsNoConflict(t *testing.T) {
	p := testPatience(half)
	for range 10 {
		p.lost(time.Second)
		p.failed() // it is down for a moment
	}
	if p.conflict() {
		t.Fatal("a restarting broker was taken for a second agent")
	}
}
