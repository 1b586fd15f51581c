package agent

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceStart returns a monotonic clock that begins now. It goes on while the
// machine sleeps, which Go's own does not: a command's deadline has passed
// outside, too.
func sinceStart() func() time.Duration {
	began, ok := boottime()
	if !ok {
		start := time.Now()
		return func() time.Duration { return time.Since(start) }
	}
	return func() time.Duration {
		now, _ := boottime() // it answered before, and can not cease to
		return now - began
	}
}

func boottime() (time.Duration, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
