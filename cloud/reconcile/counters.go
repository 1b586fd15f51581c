package reconcile

import "sync/atomic"

// Counters count what this process compared since its start.
type Counters struct {
	Rounds   atomic.Int64
	Compared atomic.Int64
	Findings atomic.Int64
	Repaired atomic.Int64
	Failed   atomic.Int64
	LastFull atomic.Int64 // when the last round over all cabinets ended, Unix ms; 0 is never
}

func (c *Counters) count(o Outcome) {
	switch o.Result {
	case Equal:
		c.Compared.Add(1)
	case Differs:
		c.Compared.Add(1)
		c.Findings.Add(1)
		if o.Finding.State == Repaired {
			c.Repaired.Add(1)
		}
	case Failed:
		c.Failed.Add(1)
	}
}

func (r *Report) count(o Outcome, frozen bool) {
	if frozen {
		r.Frozen++
	}
	switch o.Result {
	case Equal:
		r.Equal++
	case NotLoaded:
		r.NotLoaded++
	case Stale:
		r.Stale++
	case Failed:
		r.Failed++
	case Differs:
		r.Findings++
		if o.Finding.State == Repaired {
			r.Repaired++
		}
		for _, d := range o.Finding.Lines {
			r.Units += max(d.Expected-d.Found, d.Found-d.Expected)
		}
	}
}
