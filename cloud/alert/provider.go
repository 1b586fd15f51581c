package alert

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// calls keeps what counters said lately, to tell the share of failures over a
// window. Counters that went down are another process's: it begins anew.
type calls struct {
	mu   sync.Mutex
	past []called
}

type called struct {
	at           time.Time
	made, failed int64
}

// over returns what was called within a window.
func (c *calls) over(now time.Time, window time.Duration, made, failed int64) (int64, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.past); n > 0 && made < c.past[n-1].made {
		c.past = nil
	}
	c.past = append(c.past, called{now, made, failed})
	for len(c.past) > 1 && now.Sub(c.past[1].at) >= window {
		c.past = c.past[1:]
	}
	return made - c.past[0].made, failed - c.past[0].failed
}

// leastFailed is how many calls have to fail before a share means anything.
const leastFailed = 5

// provider is a condition about payment providers that do not answer: at least
// Threshold percent of the calls within After failed.
func provider(r *Rule, s Sources) Condition {
	var c calls
	return func(_ context.Context, now time.Time) ([]Reading, error) {
		made, failed := s.Calls()
		made, failed = c.over(now, r.After, made, failed)
		if failed < leastFailed || failed*100 < made*r.Threshold {
			return nil, nil
		}
		return []Reading{{Count: failed, Summary: fmt.Sprintf("%d of %d calls to payment providers failed within %s.", failed, made, short(r.After))}}, nil
	}
}
