package alert_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"vendline/cloud/alert"
)

func ruleNamed(t *testing.T, name string, s alert.Sources) alert.Rule {
	t.Helper()
	for _, r := range alert.Builtin(s, nil) {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no rule %s", name)
	return alert.Rule{}
}

func TestManyCabinetsAreOneAlert(t *testing.T) {
	var fleet []alert.Cabinet
	for i := range 500 {
		fleet = append(fleet, alert.Cabinet{ID: fmt.Sprintf("C%03d", i), Offline: time.Duration(i) * time.Minute})
	}
	r := ruleNamed(t, "cabinet_offline", alert.Sources{Cabinets: func(time.Time) ([]alert.Cabinet, error) { return fleet, nil }})
	got, err := r.Read(t.Context(), begin)
	if err != nil || len(got) != 1 || got[0].Count != 490 || len(got[0].Examples) != 5 ||
		got[0].Summary != "Cabinets not heard of for more than 10m: 490 of 500 (C010, C011, C012, C013, C014, …)" {
		t.Errorf("read %+v, %v", got, err)
	}
}

func TestLagIsAnAlertPerKind(t *testing.T) {
	r := ruleNamed(t, "outbox_lag", alert.Sources{Backlogs: func(context.Context) ([]alert.Backlog, error) {
		return []alert.Backlog{{"stock", 9, 3 * time.Minute}, {"redis", 9, time.Second}, {"timer", 1, time.Hour}}, nil
	}})
	got, err := r.Read(t.Context(), begin)
	if err != nil || len(got) != 2 || alert.KeyOf(r.Name, got[0].Labels) != "outbox_lag:stock" || alert.KeyOf(r.Name, got[1].Labels) != "outbox_lag:timer" {
		t.Errorf("read %+v, %v", got, err)
	}
}

func TestAProviderIsDownByItsShareOfFailures(t *testing.T) {
	var made, failed int64
	r := ruleNamed(t, "provider_down", alert.Sources{Calls: func() (int64, int64) { return made, failed }})
	now := begin
	for _, c := range []struct {
		made, failed int64
		after        time.Duration
		down         bool
	}{
		{100, 90, 0, false},             // it was so when we came
		{4, 4, time.Second, false},      // too few to tell
		{2, 2, time.Second, true},       // 6 of 6
		{20, 0, time.Second, false},     // 6 of 26
		{0, 0, 6 * time.Minute, false},  // long ago
		{10, 8, time.Second, true},      // 8 of 10
		{-100, -90, time.Second, false}, // another process's counters
	} {
		made, failed, now = made+c.made, failed+c.failed, now.Add(c.after)
		got, err := r.Read(t.Context(), now)
		if err != nil || (len(got) == 1) != c.down {
			t.Errorf("after %+v: %+v, %v", c, got, err)
		}
	}
}

// shelf is a store in memory, for what is about rules and not about rows.
type shelf struct {
	alerts map[string]alert.Alert
	told   []string
}

func (s *shelf) HoldAlerts(context.Context, string, time.Duration) (bool, error) { return true, nil }

func (s *shelf) Alerts(context.Context) (out []alert.Alert, err error) {
	for _, a := range s.alerts {
		out = append(out, a)
	}
	return out, nil
}

func (s *shelf) SaveAlert(_ context.Context, _ string, c alert.Change) error {
	c.Alert.Version++
	s.alerts[c.Alert.Key] = c.Alert
	for _, n := range c.Notifications {
		s.told = append(s.told, n.Sink+" "+n.Key+" "+string(n.State))
	}
	return nil
}

func TestAConditionThatCannotBeReadChangesNothing(t *testing.T) {
	now, bad, broken := begin, true, false
	s := &shelf{alerts: map[string]alert.Alert{}}
	read := func(context.Context, time.Time) ([]alert.Reading, error) {
		if broken {
			return nil, errors.New("away")
		}
		if bad {
			return []alert.Reading{{Count: 1}}, nil
		}
		return nil, nil
	}
	e := &alert.Evaluator{Store: s, Holder: "one", Clock: func() time.Time { return now }, ID: func() string { return "id" }, Log: slog.New(slog.DiscardHandler),
		Rules:  []alert.Rule{{Name: "r", Severity: alert.Warning, Quiet: time.Second, Read: read}, {Name: "other", Severity: alert.Critical, Read: read}},
		Routes: []alert.Route{{Sink: "all", Least: alert.Info}, {Sink: "worst", Least: alert.Critical}}}
	look := func() {
		t.Helper()
		if err := e.Evaluate(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(5 * time.Second)
	}
	look()
	if slices.Sort(s.told); !slices.Equal(s.told, []string{"all other firing", "all r firing", "worst other firing"}) {
		t.Fatalf("told %v", s.told)
	}
	broken = true
	for range 100 {
		look()
	}
	if len(s.told) != 3 || e.Unknown()["r"] != "away" || s.alerts["r"].State != alert.Firing {
		t.Errorf("told %v while nothing is known", s.told)
	}
	broken, bad = false, false
	for range 3 {
		look()
	}
	if len(s.told) != 6 || len(e.Unknown()) != 0 {
		t.Errorf("told %v at the end", s.told)
	}
}

func TestARuleThatIsTurnedOffEndsWhatItTold(t *testing.T) {
	s := &shelf{alerts: map[string]alert.Alert{"gone": {Key: "gone", Rule: "gone", Severity: alert.Warning, State: alert.Firing, Told: alert.Firing, Version: 3, On: true, ReadAt: begin}}}
	e := &alert.Evaluator{Store: s, Clock: func() time.Time { return begin }, ID: func() string { return "id" }, Log: slog.New(slog.DiscardHandler), Routes: []alert.Route{{Sink: "all", Least: alert.Info}}}
	if err := e.Evaluate(t.Context()); err != nil || !slices.Equal(s.told, []string{"all gone resolved"}) {
		t.Errorf("told %v, %v", s.told, err)
	}
}

// ear is a sink that may be down.
type ear struct {
	down  bool
	heard []string
}

func (e *ear) Name() string { return "ear" }

func (e *ear) Send(_ context.Context, batch []alert.Notification) []error {
	if e.down {
		return alert.All(batch, errors.New("down"))
	}
	for _, n := range batch {
		e.heard = append(e.heard, n.Key+" "+string(n.State))
	}
	return alert.All(batch, nil)
}

func TestADatabaseThatIsAwayIsToldOnceByEachProcess(t *testing.T) {
	now, away, e := begin, errors.New("connection refused"), &ear{down: true}
	a := &alert.Away{Ping: func(context.Context) error { return away }, Rule: ruleOf(func(r *alert.Rule) { r.Name, r.Repeat = alert.DatabaseAway, 0 }), Instance: "cloud-1",
		Sinks: []alert.Sink{e}, Routes: []alert.Route{{Sink: "ear", Least: alert.Info}}, Clock: func() time.Time { return now }, ID: func() string { return "id" }, Log: slog.New(slog.DiscardHandler)}
	look := func(n int) {
		for range n {
			a.Look(t.Context())
			now = now.Add(10 * time.Second)
		}
	}
	look(6)
	e.down = false
	look(6)
	if !slices.Equal(e.heard, []string{"database_away:cloud-1 firing"}) || !a.Alert().Active() {
		t.Errorf("heard %v", e.heard)
	}
	away = nil
	look(10)
	if !slices.Equal(e.heard, []string{"database_away:cloud-1 firing", "database_away:cloud-1 resolved"}) {
		t.Errorf("heard %v", e.heard)
	}
}

func TestASnoozeHasAnEndAndAReason(t *testing.T) {
	for _, c := range []struct {
		s  alert.Snooze
		ok bool
	}{
		{alert.Snooze{Key: "r", Reason: "x", At: begin, Until: begin.Add(time.Hour)}, true},
		{alert.Snooze{Rule: "r", Reason: "x", At: begin, Until: begin.Add(alert.LongestSnooze)}, true},
		{alert.Snooze{Reason: "x", At: begin, Until: begin.Add(time.Hour)}, false},
		{alert.Snooze{Key: "r", Reason: " ", At: begin, Until: begin.Add(time.Hour)}, false},
		{alert.Snooze{Key: "r", Reason: "x", At: begin}, false},
		{alert.Snooze{Key: "r", Reason: "x", At: begin, Until: begin.Add(alert.LongestSnooze + 1)}, false},
	} {
		if err := c.s.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
}
