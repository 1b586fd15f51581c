package paymenttest

import (
	"sync"
	"time"
)

// Clock is a time that only moves when told to.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows a whole second, as signatures do.
func NewClock() *Clock { return &Clock{now: time.Unix(1_700_000_000, 0)} }

// Now is what provider and server take for the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Pass moves the time on.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
