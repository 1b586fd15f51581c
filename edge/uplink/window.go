package uplink

import (
	"cmp"
	"slices"
	"time"

	"vendline/shared/wire"
)

// window decides which rows are sent when. It knows seqs, not rows: a row is
// read again when it is sent again, so a window costs bytes, not kilobytes.
//
// Its size is its pacing. It begins small on every connection and grows by one
// for each answer, up to max, so a backlog drains as fast as the cloud answers
// and a thousand cabinets that reconnect together do not send a thousand full
// windows at once. A row that has to be sent again for lack of an answer, and a
// cloud that says it is overloaded, halve it.
type window struct {
	max, size   int
	resend, top time.Duration
	jitter      func() float64

	flights []flight // by seq
	sent    int      // flights waiting for an answer on this connection
	last    int64    // highest seq ever taken from the outbox
	closed  bool     // a barrier is under way: nothing passes until it is answered
}

type flight struct {
	seq   int64
	due   time.Duration // when to send (again)
	tries int
	sent  bool // on this connection, and no answer yet
	held  bool // the cloud said: again later
	bar   bool // a barrier: alone under way
	why   wire.Code
	say   string
}

const (
	startSize = 16
	maxHeld   = 1024 // rows the cloud may put off before no newer ones are tried
)

func newWindow(max int, resend, top time.Duration, jitter func() float64) *window {
	return &window{max: max, size: min(startSize, max), resend: resend, top: top, jitter: jitter}
}

// restart begins a connection: whatever was sent on the last one is sent again,
// at once but paced.
func (w *window) restart(now time.Duration) {
	w.size, w.sent = min(startSize, w.max), 0
	for i := range w.flights {
		f := &w.flights[i]
		if !f.held {
			f.due = now
		}
		f.sent = false
	}
}

// take returns up to limit seqs to send now, lowest first, and counts them as sent.
func (w *window) take(now time.Duration, limit int) (seqs []int64) {
	late := false
	for i := range w.flights {
		f := &w.flights[i]
		if len(seqs) == limit {
			break
		}
		if f.due > now || !f.sent && w.sent >= w.size {
			continue
		}
		late = late || f.sent
		w.launch(f, now)
		seqs = append(seqs, f.seq)
	}
	if late {
		w.shrink()
	}
	return seqs
}

// room is how many new rows may be added now.
func (w *window) room() int {
	if w.closed {
		return 0
	}
	return max(0, min(w.size-w.sent, w.max+maxHeld-len(w.flights)))
}

// add counts a row that is sent for the first time; false if it may not be sent
// yet. A barrier waits until every row before it is answered or parked, those
// put off included: they are all in flights, which holds every row up to last
// that still waits in the outbox. Each of them is sent again by itself until it
// is answered, so the barrier's turn comes; and the barrier, alone, is sent again
// like any row, so what is behind it gets its turn too.
func (w *window) add(seq int64, bar bool, now time.Duration) bool {
	if w.closed || bar && len(w.flights) > 0 {
		return false
	}
	w.flights = append(w.flights, flight{seq: seq, bar: bar})
	w.launch(&w.flights[len(w.flights)-1], now)
	w.last, w.closed = seq, bar
	return true
}

func (w *window) launch(f *flight, now time.Duration) {
	if !f.sent {
		w.sent++
	}
	f.sent, f.held = true, false
	f.due = now + w.after(f.tries)
	f.tries++
}

// after is the wait before try n+1: doubling, capped, spread by ±25 %.
func (w *window) after(tries int) time.Duration {
	d := w.resend << min(tries, 16)
	if d <= 0 || d > w.top {
		d = w.top
	}
	return time.Duration(float64(d) * (0.75 + w.jitter()/2))
}

// settled forgets a row that was answered for good.
func (w *window) settled(seq int64) {
	if i, ok := w.find(seq); ok {
		if w.flights[i].sent {
			w.sent--
			w.size = min(w.size+1, w.max)
		}
		w.closed = w.closed && !w.flights[i].bar
		w.flights = slices.Delete(w.flights, i, i+1)
	}
}

// hold puts a row off: the cloud said to try again later, and why.
func (w *window) hold(seq int64, why wire.Code, say string, now time.Duration) {
	i, ok := w.find(seq)
	if !ok {
		return
	}
	f := &w.flights[i]
	if f.sent {
		w.sent--
	}
	f.sent, f.held, f.why, f.say = false, true, why, say
	f.due = now + w.after(max(f.tries-1, 0))
	if why == wire.CodeOverloaded {
		w.shrink()
	}
}

func (w *window) shrink() { w.size = max(1, w.size/2) }

// next is when something falls due; ok is false if nothing will by itself.
func (w *window) next() (due time.Duration, ok bool) {
	full := w.sent >= w.size
	for _, f := range w.flights {
		if !f.sent && full {
			continue // an answer, not the clock, makes room for it
		}
		if !ok || f.due < due {
			due, ok = f.due, true
		}
	}
	return due, ok
}

// reason is the cloud's last word on a row that it put off.
func (w *window) reason(seq int64) (wire.Code, string) {
	if i, ok := w.find(seq); ok {
		return w.flights[i].why, w.flights[i].say
	}
	return "", ""
}

func (w *window) find(seq int64) (int, bool) {
	return slices.BinarySearchFunc(w.flights, seq, func(f flight, seq int64) int { return cmp.Compare(f.seq, seq) })
}
