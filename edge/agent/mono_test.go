package agent

import (
	"testing"
	"time"
)

func TestTheClockBeginsAtZeroAndOnlyGoesForward(t *testing.T) {
	mono := sinceStart()
	last := time.Duration(0)
	for range 10_000 {
		now := mono()
		if now < last {
			t.Fatalf("%v after %v", now, last)
		}
		last = now
	}
	if last <= 0 || last > time.Minute {
		t.Fatalf("%v after a moment", last)
	}
}
