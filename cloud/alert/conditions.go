package alert

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Group is many of a kind: how many there are, and some of them.
type Group struct {
	Count    int64
	Examples []string
}

// examples is how many a Group names.
const examples = 5

// Add counts one more, and names it if there is room.
func (g *Group) Add(name string) {
	g.Count++
	if len(g.Examples) < examples && !slices.Contains(g.Examples, name) {
		g.Examples = append(g.Examples, name)
	}
}

// named is " (C001, C002, …)", or nothing.
func (g Group) named() string {
	if len(g.Examples) == 0 {
		return ""
	}
	more := ""
	if g.Count > int64(len(g.Examples)) {
		more = ", …"
	}
	return " (" + strings.Join(g.Examples, ", ") + more + ")"
}

// Backlog is one kind of outbox row that waits.
type Backlog struct {
	Kind   string
	Depth  int64
	Oldest time.Duration
}

// Cabinet is how one cabinet is, as far as this process has heard.
type Cabinet struct {
	ID      string
	Offline time.Duration // since it was last heard of, if it is offline; 0: it is not
	Gap     bool          // its outbox was damaged and set aside
	Parked  int64         // messages that it cannot send
	Skewed  bool          // its clock is off
}

// Sources is what conditions read. Each is a short read; nil is a part that this
// process does not have, and its rules are left out.
type Sources struct {
	// Shortages and Drift are facts of ours since a time: promised units that do
	// not exist, and other differences that were booked.
	Shortages func(ctx context.Context, since time.Time, n int) (Group, error)
	Drift     func(ctx context.Context, since time.Time, n int) (Group, error)
	// Findings are differences between Redis and the ledger that reconcile found.
	Findings func(ctx context.Context, since time.Time, n int) (Group, error)
	// Letters are open dead letters; examples are the newest reasons.
	Letters func(ctx context.Context, n int) (Group, error)
	// Cases are open cases of some kinds (none: all), older than age.
	Cases    func(ctx context.Context, kinds []string, age time.Duration, n int) (Group, error)
	Backlogs func(ctx context.Context) ([]Backlog, error)
	Depth    func(ctx context.Context) (int64, error) // messages the queue holds for step 8
	// Incidents are the times when Redis, or a part of it, was fenced.
	Incidents func(ctx context.Context, since time.Time, n int) (Group, error)
	// RedisAway says why Redis is away; empty: it is there.
	RedisAway func() string
	Cabinets  func(now time.Time) ([]Cabinet, error)
	// Calls are calls to payment providers so far, by this process.
	Calls func() (made, failed int64)
	// Ping asks the database for a sign of life.
	Ping func(ctx context.Context) error
}

// lately is a condition about what happened within After.
func lately(r *Rule, read func(context.Context, time.Time, int) (Group, error), format string) Condition {
	return func(ctx context.Context, now time.Time) ([]Reading, error) {
		g, err := read(ctx, now.Add(-r.After), examples)
		if err != nil || g.Count < max(r.Threshold, 1) {
			return nil, err
		}
		return one(g, fmt.Sprintf(format, short(r.After), g.Count)), nil
	}
}

func one(g Group, text string) []Reading {
	return []Reading{{Count: g.Count, Examples: g.Examples, Summary: text + g.named()}}
}

// cases is a condition about cases that nobody has closed.
func cases(r *Rule, s Sources, text string, kinds ...string) Condition {
	return func(ctx context.Context, _ time.Time) ([]Reading, error) {
		g, err := s.Cases(ctx, kinds, r.After, examples)
		if err != nil || g.Count < max(r.Threshold, 1) {
			return nil, err
		}
		return one(g, fmt.Sprintf("%s: %d", text, g.Count)), nil
	}
}

// cabinets is a condition about every cabinet that is so.
func cabinets(r *Rule, s Sources, text string, so func(Cabinet) bool) Condition {
	return func(_ context.Context, now time.Time) ([]Reading, error) {
		all, err := s.Cabinets(now)
		if err != nil {
			return nil, err
		}
		var g Group
		for _, c := range all {
			if so(c) {
				g.Add(c.ID)
			}
		}
		if g.Count < max(r.Threshold, 1) {
			return nil, nil
		}
		return one(g, fmt.Sprintf("Cabinets %s: %d of %d", text, g.Count, len(all))), nil
	}
}

// lag is a condition per kind of outbox row.
func lag(r *Rule, s Sources) Condition {
	return func(ctx context.Context, _ time.Time) ([]Reading, error) {
		all, err := s.Backlogs(ctx)
		var out []Reading
		for _, b := range all {
			if b.Depth > 0 && b.Oldest >= r.After {
				out = append(out, Reading{Labels: map[string]string{"kind": b.Kind}, Count: b.Depth,
					Summary: fmt.Sprintf("Outbox rows of kind %s that wait: %d, the oldest for more than %s.", b.Kind, b.Depth, short(r.After))})
			}
		}
		return out, err
	}
}

func depth(r *Rule, s Sources) Condition {
	return func(ctx context.Context, _ time.Time) ([]Reading, error) {
		n, err := s.Depth(ctx)
		if err != nil || n < r.Threshold {
			return nil, err
		}
		return []Reading{{Count: n, Summary: fmt.Sprintf("Stock messages that wait for step 8: %d.", n)}}, nil
	}
}

func redisAway(s Sources) Condition {
	return func(context.Context, time.Time) ([]Reading, error) {
		why := s.RedisAway()
		if why == "" {
			return nil, nil
		}
		return []Reading{{Count: 1, Summary: "Redis is away: " + why + ". Orders go by the ledger alone, at a bounded rate."}}, nil
	}
}

// slow is a condition about how long the database takes to say that it is there.
func slow(r *Rule, s Sources) Condition {
	return func(ctx context.Context, _ time.Time) ([]Reading, error) {
		begin := time.Now() // an interval, not a time of day
		if err := s.Ping(ctx); err != nil {
			return nil, err
		}
		took := time.Since(begin)
		if took < r.After {
			return nil, nil
		}
		return []Reading{{Count: 1, Summary: fmt.Sprintf("The database takes more than %s to say that it is there.", short(r.After))}}, nil
	}
}

// short writes a duration as people do: 10m, not 10m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

func letters(r *Rule, s Sources) Condition {
	return func(ctx context.Context, _ time.Time) ([]Reading, error) {
		g, err := s.Letters(ctx, examples)
		if err != nil || g.Count < r.Threshold {
			return nil, err
		}
		return one(g, fmt.Sprintf("Dead letters open: %d", g.Count)), nil
	}
}

// everything are sources that have every part, and say nothing.
func everything() Sources {
	since := func(context.Context, time.Time, int) (Group, error) { return Group{}, nil }
	return Sources{
		Shortages: since, Drift: since, Findings: since, Incidents: since,
		Letters:   func(context.Context, int) (Group, error) { return Group{}, nil },
		Cases:     func(context.Context, []string, time.Duration, int) (Group, error) { return Group{}, nil },
		Backlogs:  func(context.Context) ([]Backlog, error) { return nil, nil },
		Depth:     func(context.Context) (int64, error) { return 0, nil },
		RedisAway: func() string { return "" },
		Cabinets:  func(time.Time) ([]Cabinet, error) { return nil, nil },
		Calls:     func() (int64, int64) { return 0, 0 },
		Ping:      func(context.Context) error { return nil },
	}
}
