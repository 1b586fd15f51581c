package uplink

import (
	"slices"
	"testing"
	"time"

	"vendline/shared/wire"
)

func half() float64 { return 0.5 } // waits come out exactly as named

func testWindow(max int) *window { return newWindow(max, 5*time.Second, time.Minute, half) }

// offer sends as many new rows as fit and returns how many.
func offer(w *window, now time.Duration) int {
	n := w.room()
	for range n {
		w.add(w.last+1, false, now)
	}
	return n
}

func TestABacklogIsPacedByTheCloudsAnswers(t *testing.T) {
	w := testWindow(256)
	if n := offer(w, 0); n != startSize {
		t.Fatalf("the first burst is %d rows", n)
	}
	if n := offer(w, 0); n != 0 {
		t.Fatalf("%d more rows without an answer", n)
	}
	w.settled(1)
	if n := offer(w, 0); n != 2 {
		t.Fatalf("one answer lets %d rows go", n)
	}
	for seq := int64(2); seq < 2000; seq++ {
		w.settled(seq)
		offer(w, 0)
	}
	if w.size != 256 || w.sent != 256 || len(w.flights) != 256 {
		t.Fatalf("size %d, sent %d, flights %d", w.size, w.sent, len(w.flights))
	}
}

func TestUnansweredRowsAreSentAgainLaterAndLater(t *testing.T) {
	w := testWindow(256)
	w.add(1, false, 0)
	now := time.Duration(0)
	var waits []time.Duration
	for range 7 {
		due, ok := w.next()
		if !ok {
			t.Fatal("nothing is due, ever")
		}
		if got := w.take(due-1, 64); len(got) != 0 {
			t.Fatalf("sent %v too early", got)
		}
		if got := w.take(due, 64); !slices.Equal(got, []int64{1}) {
			t.Fatalf("at %v sent %v", due, got)
		}
		waits = append(waits, due-now)
		now = due
	}
	s := time.Second
	if want := []time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 60 * s, 60 * s, 60 * s}; !slices.Equal(waits, want) {
		t.Fatalf("waits %v, want %v", waits, want)
	}
}

func TestAReconnectSendsEverythingUnansweredAgainInOrder(t *testing.T) {
	w := testWindow(256)
	for range 100 {
		offer(w, 0)
		w.settled(w.flights[0].seq)
	}
	waiting := len(w.flights)
	w.restart(time.Second)
	got := w.take(time.Second, 1000)
	if len(got) != startSize || !slices.IsSorted(got) || got[0] != w.flights[0].seq {
		t.Fatalf("after a reconnect: %v", got)
	}
	if n := w.room(); n != 0 {
		t.Fatalf("%d new rows would overtake the old ones", n)
	}
	for len(w.flights) > 0 {
		w.settled(w.flights[0].seq)
		got = append(got, w.take(time.Second, 1000)...)
	}
	if len(got) != waiting {
		t.Fatalf("sent %d of %d again", len(got), waiting)
	}
}

func TestARowPutOffMakesRoomForOthersAndKeepsItsReason(t *testing.T) {
	w := testWindow(1)
	w.add(1, false, 0)
	w.hold(1, wire.CodeFenced, "rebuilding", 0)
	if code, say := w.reason(1); code != wire.CodeFenced || say != "rebuilding" {
		t.Fatalf("reason %q %q", code, say)
	}
	if w.room() != 1 {
		t.Fatal("one held row blocks the cabinet")
	}
	w.add(2, false, 0)
	w.settled(2)
	if got := w.take(5*time.Second, 64); !slices.Equal(got, []int64{1}) {
		t.Fatalf("then sends %v", got)
	}
	w.hold(1, wire.CodeFenced, "rebuilding", 5*time.Second)
	if due, _ := w.next(); due != 15*time.Second {
		t.Fatalf("the second try is put off until %v", due)
	}
}

func TestHeldRowsAreBoundedInMemory(t *testing.T) {
	w := testWindow(8)
	for range 10 * maxHeld {
		if offer(w, 0) == 0 {
			break
		}
		for seq := w.last; w.sent > 0; seq-- {
			w.hold(seq, wire.CodeUnavailable, "", 0)
		}
	}
	if len(w.flights) > w.max+maxHeld {
		t.Fatalf("%d rows in memory", len(w.flights))
	}
	w.settled(5)
	if w.room() == 0 {
		t.Fatal("the window never opens again")
	}
}

func TestAnOverloadedCloudIsSentLess(t *testing.T) {
	w := testWindow(256)
	offer(w, 0)
	w.hold(1, wire.CodeOverloaded, "", 0)
	if w.size != startSize/2 {
		t.Fatalf("size %d", w.size)
	}
	for seq := int64(2); seq < 12; seq++ {
		w.hold(seq, wire.CodeOverloaded, "", 0)
	}
	if w.size != 1 {
		t.Fatalf("size %d: it must not reach nothing", w.size)
	}
}

func TestAnswersToUnknownRowsAreHarmless(t *testing.T) {
	w := testWindow(4)
	w.settled(9)
	w.hold(9, wire.CodeFenced, "", 0)
	if w.sent != 0 || len(w.flights) != 0 {
		t.Fatalf("%+v", w)
	}
}
