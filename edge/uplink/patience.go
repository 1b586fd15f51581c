package uplink

import "time"

// patience decides how long to wait before the next connect.
//
// Every wait is drawn at random from a span, and the span doubles: a thousand
// cabinets that lost their broker in the same instant come back spread out.
//
// Two agents with one identity throw each other off: the broker gives the client
// id to whoever comes last. That looks like connections that are up for a
// moment and then closed, over and over, with no failed connect in between
// (which a broker that is down would show). What counts as a moment grows with
// our own wait, because that is how long the other one leaves us alone.
type patience struct {
	t      Timing
	jitter func() float64
	misses int // failed connects in a row
	quick  int // connections lost in a moment, in a row
	span   time.Duration
}

// conflictAfter is how many takeovers in a row are no coincidence.
const conflictAfter = 3

// failed returns the wait after a connect that failed.
func (p *patience) failed() time.Duration {
	p.misses++
	if !p.conflict() {
		p.quick = 0
	}
	return p.wait(p.misses, p.t.ReconnectMax)
}

// lost returns the wait after a connection that was up for lived.
func (p *patience) lost(lived time.Duration) time.Duration {
	if lived < max(p.t.Quick, 2*p.span) {
		p.quick++
	} else {
		p.quick = 0
	}
	p.misses = 0
	if p.conflict() {
		// Never less than half the span, so that the other agent gets to work too.
		drawn := p.wait(p.quick, p.t.ConflictMax)
		return p.span/2 + drawn/2
	}
	return p.wait(p.quick, p.t.ReconnectMax)
}

// conflict reports whether another agent seems to use our identity.
func (p *patience) conflict() bool { return p.quick >= conflictAfter }

func (p *patience) wait(n int, top time.Duration) time.Duration {
	p.span = p.t.Reconnect << min(max(n, 1)-1, 16)
	if p.span <= 0 || p.span > top {
		p.span = top
	}
	return time.Duration(float64(p.span) * p.jitter())
}
