package deduct

import (
	"context"
	"fmt"
	"time"
)

// probeKey is written to find out whether Redis takes writes.
const probeKey = "vendline:probe"

// Probe asks Redis to keep something: a PING is also answered by a replica, and
// by a server that is out of memory or disk.
func (s *Stock) Probe(ctx context.Context) error {
	if err := s.rdb.Set(ctx, probeKey, 1, time.Minute).Err(); err != nil {
		return fmt.Errorf("deduct: probe: %w", err)
	}
	return nil
}
