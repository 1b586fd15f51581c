package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"vendline/cloud/app"
	"vendline/shared/clock"
	"vendline/shared/wire"
)

// Whose clock jumps.
const (
	cloudClock  = "cloud"
	agentsClock = "agents"
)

// offsetFile is what sets a clock wrong.
func (s *Site) offsetFile(whose string) string { return filepath.Join(s.Stack.Dir, "clock-"+whose) }

func (s *Site) clockEnv(whose string) []string {
	return []string{clock.Env + "=" + s.offsetFile(whose)}
}

// setClock makes a clock wrong by an offset, or right again.
func (s *Site) setClock(whose string, by time.Duration) error {
	file := s.offsetFile(whose)
	if err := os.WriteFile(file+".new", []byte(by.String()), 0o600); err != nil {
		return err
	}
	if whose == cloudClock {
		s.book.Clock(by)
		s.ahead = max(s.ahead, by)
	}
	return os.Rename(file+".new", file)
}

// jumpFaults set clocks wrong, and right again.
func jumpFaults() []Fault {
	to := func(at time.Time) func() time.Duration {
		return func() time.Duration { return time.Until(at).Round(time.Second) }
	}
	by := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
	return []Fault{
		{Name: "agents' clocks +1 day", Asked: true, Strike: jump(agentsClock, by(24*time.Hour), false)},
		{Name: "agents' clocks −1 day", Asked: true, Strike: jump(agentsClock, by(-24*time.Hour), false)},
		{Name: "agents' clocks 1970, restarted", Asked: true, Strike: jump(agentsClock, to(time.Unix(60, 0)), true)},
		{Name: "agents' clocks 2038", Asked: true, Strike: jump(agentsClock, to(time.Unix(1<<31, 0)), false)},
		{Name: "vend-cloud's clock +10 min", Asked: true, Strike: jump(cloudClock, by(10*time.Minute), false)},
		{Name: "vend-cloud's clock −10 min", Asked: true, Strike: jump(cloudClock, by(-10*time.Minute), false)},
		{Name: "vend-cloud's clock −1 h", Asked: true, Strike: jump(cloudClock, by(-time.Hour), false)},
	}
}

// passTime lets vend-cloud's clock be as far ahead as it ever was, and a hold
// further, until the function it returns is called. A hold's end is an instant: one
// that was placed by a clock ten minutes ahead ends, when that is right again, ten
// minutes later than it should. The stock is held meanwhile, and nothing is sold
// twice; only nobody wants to wait for it here.
func (s *Site) passTime() (back func() error, err error) {
	if s.ahead == 0 {
		return func() error { return nil }, nil
	}
	err = s.setClock(cloudClock, s.ahead+s.Hold+2*time.Second)
	return func() error {
		err := s.setClock(cloudClock, 0)
		s.ahead = 0
		return err
	}, err
}

// jump sets a clock wrong for a while. Whoever was killed for it comes back
// with the wrong clock, like a cabinet's computer without a battery.
func jump(whose string, by func() time.Duration, restarted bool) func(context.Context, *Site, time.Duration) error {
	return func(ctx context.Context, s *Site, down time.Duration) error {
		off := by()
		if err := s.setClock(whose, off); err != nil {
			return err
		}
		over := time.After(s.Times.Slow)
		var err error
		if restarted {
			err = killAgents(ctx, s, down/4)
		}
		patience, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		err = errors.Join(err, until(patience, func() error {
			if whose == cloudClock {
				return s.cloudIsOff(patience, off)
			}
			return s.agentsAreOff(patience, off)
		}))
		select {
		case <-over:
		case <-ctx.Done():
		}
		return errors.Join(err, s.setClock(whose, 0))
	}
}

const clockSlack = 30 * time.Second

// cloudIsOff: an order that is placed now is dated by the wrong clock.
func (s *Site) cloudIsOff(ctx context.Context, off time.Duration) error {
	w := wish{cabinet: s.Plan.Cabinets[0], user: "prober", lines: []wire.Line{{SKU: ProbeSKU, Qty: 1}}}
	key := app.NewID()
	s.book.Begin(Event{ID: key, Key: key, Kind: Phone, Cabinet: w.cabinet, User: w.user, Lines: w.lines})
	a := s.call.insist(ctx, s.Plan.Rand(8000), s.CloudURL()+"/v1/orders", key, phoneBody(w))
	if a.outcome != Yes {
		if a.outcome == No {
			s.book.Refused(key, a.code, a.sent)
		}
		return fmt.Errorf("drill: no order is placed while vend-cloud's clock is off by %s: %s", off, a.body)
	}
	s.book.Said(key, a.body)
	var placed accepted
	if err := json.Unmarshal(a.body, &placed); err != nil {
		return err
	}
	if wrong := time.Until(time.UnixMilli(int64(placed.Order.CreatedAt))); wrong < off-clockSlack || wrong > off+clockSlack {
		return fmt.Errorf("drill: vend-cloud's clock is off by %s, not by %s", wrong, off)
	}
	return nil
}

// agentsAreOff: the cloud has measured by how much, and flags it.
func (s *Site) agentsAreOff(ctx context.Context, off time.Duration) error {
	var fleet struct {
		Cabinets []struct {
			ID     string `json:"id"`
			SkewMS *int64 `json:"skew_ms"`
			Skewed bool   `json:"skewed"`
		} `json:"cabinets"`
	}
	if err := s.call.get(ctx, s.CloudURL()+"/v1/fleet/cabinets", &fleet); err != nil {
		return err
	}
	for _, c := range fleet.Cabinets {
		if c.SkewMS == nil || !c.Skewed {
			return fmt.Errorf("drill: the clock of %s is off by %s, and the cloud does not flag it", c.ID, off)
		}
		if wrong := time.Duration(*c.SkewMS) * time.Millisecond; wrong < off-clockSlack || wrong > off+clockSlack {
			return fmt.Errorf("drill: the clock of %s is off by %s, the cloud says %s", c.ID, off, wrong)
		}
	}
	if len(fleet.Cabinets) < len(s.Plan.Cabinets) {
		return fmt.Errorf("drill: the cloud knows only %d cabinets", len(fleet.Cabinets))
	}
	return nil
}
