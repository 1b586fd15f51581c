package drill

import (
	"context"
	"fmt"
	"strings"
	"time"

	"vendline/cloud/relay"
	"vendline/lua"
)

// Quiet waits until nothing is under way any more: no outbox row in the cloud or
// at a cabinet, no statement in the queue, no hold, and no id that Redis waits to
// hear about. It looks again and again, and says what was still under way if ctx ends first.
func (s *Site) Quiet(ctx context.Context) error {
	for {
		busy, err := s.underWay(ctx)
		if err == nil && len(busy) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("drill: it does not come to rest: still %s (last error: %v)", strings.Join(busy, ", "), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (s *Site) underWay(ctx context.Context) (busy []string, err error) {
	note := func(n int64, what string) {
		if n > 0 {
			busy = append(busy, fmt.Sprintf("%d %s", n, what))
		}
	}
	for _, q := range []struct{ what, query string }{
		{"stock rows in local_msg", "SELECT COUNT(*) FROM local_msg WHERE kind = 'stock'"},
		{"timer rows in local_msg", "SELECT COUNT(*) FROM local_msg WHERE kind = 'timer'"},
		{"Redis rows in local_msg", "SELECT COUNT(*) FROM local_msg WHERE kind = 'redis'"},
		{"rows of other kinds in local_msg", "SELECT COUNT(*) FROM local_msg WHERE kind NOT IN ('stock', 'timer', 'redis')"},
		{"holds", "SELECT COUNT(*) FROM trade_order WHERE status NOT IN ('CONSUMED', 'ROLLBACKED') AND NOT (status = 'INIT' AND version > 0)"},
	} {
		var n int64
		if err := s.db.QueryRowContext(ctx, q.query).Scan(&n); err != nil {
			return busy, err
		}
		note(n, q.what)
	}
	depth, err := s.depth(ctx)
	if err != nil {
		return busy, err
	}
	note(depth, "messages in the queue")
	for c, url := range s.AgentURLs() {
		var h struct {
			Depth int64 `json:"depth"`
		}
		if err := s.call.get(ctx, url+"/v1/health", &h); err != nil {
			return busy, err
		}
		note(h.Depth, "events in the outbox of "+c)
		n, err := s.redis.HLen(ctx, lua.KeysOf(c, "", "").Resv).Result()
		if err != nil {
			return busy, err
		}
		note(n, "ids in resv of "+c)
	}
	return busy, nil
}

// depth is how many stock messages the queue holds. Consumers tell it what they
// are done with every few seconds, so it may lag.
func (s *Site) depth(ctx context.Context) (int64, error) {
	topic := relay.DefaultTopics().Stock
	return s.queue.Depth(ctx, topic, topic+"_group")
}
