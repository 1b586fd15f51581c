//go:build !linux

package agent

import "time"

// sinceStart returns a monotonic clock that begins now.
func sinceStart() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
