// Package clock is the wall clock of a process, and a way to set it wrong on
// purpose: the drills prove that a clock which jumps loses nothing and sells
// nothing twice.
package clock

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Env names the environment variable under which a process finds the file of
// its offset. Nobody sets it but a drill.
const Env = "VENDLINE_CLOCK_OFFSET_FILE"

// every is how often the file is looked at, by the real clock.
const every = 20 * time.Millisecond

// System is this machine's clock; if Env is set, wrong by what that file says.
func System() (func() time.Time, error) {
	file := os.Getenv(Env)
	if file == "" {
		return time.Now, nil
	}
	return Off(file)
}

// Off is a clock that is wrong by the duration in a file, such as -1h, or by
// nothing if it is empty; it follows the file. It is worse than a machine's clock
// that was set: there an interval between two readings stays right, here it jumps.
func Off(file string) (func() time.Time, error) {
	c := &off{file: file}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c.now, nil
}

type off struct {
	file string

	mu   sync.Mutex
	by   time.Duration
	seen time.Time
}

func (c *off) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.seen) > every {
		_ = c.read() // half-written: the last offset stands
	}
	return time.Now().Add(c.by)
}

func (c *off) read() error {
	c.seen = time.Now()
	text, err := os.ReadFile(c.file)
	if err != nil {
		return fmt.Errorf("clock: %s: %w", Env, err)
	}
	word := strings.TrimSpace(string(text))
	if word == "" {
		c.by = 0
		return nil
	}
	by, err := time.ParseDuration(word)
	if err != nil {
		return fmt.Errorf("clock: %s names a file without a duration such as -1h: %w", Env, err)
	}
	c.by = by
	return nil
}
