package uplink

import (
	"sync"
	"time"
)

// debt is how long the cloud has owed us an answer: since the first question
// (a row, an ask) after its last word. A broker that is up with nobody behind it
// is no cloud.
type debt struct {
	mu    sync.Mutex
	since time.Duration // monotonic
	owed  bool
}

// asked notes that something was sent that wants an answer.
func (d *debt) asked(now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.owed {
		d.owed, d.since = true, now
	}
}

// heard notes that the cloud said something.
func (d *debt) heard() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owed = false
}

func (d *debt) age(now time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.owed {
		return 0
	}
	return now - d.since
}
