package outbox_test

import (
	"testing"
	"time"

	"vendline/cloud/outbox"
)

func TestEveryKindHasItsSchedule(t *testing.T) {
	if len(outbox.Schedules) != len(outbox.Kinds) {
		t.Errorf("%d schedules for %d kinds", len(outbox.Schedules), len(outbox.Kinds))
	}
	for _, k := range outbox.Kinds {
		s := outbox.ScheduleOf(k)
		if s.First <= 0 || s.Longest <= 0 || s.End == "" {
			t.Errorf("%s: %+v", k, s)
		}
	}
}

func TestNothingIsGivenUpBeforeSixteenAttempts(t *testing.T) {
	for _, s := range outbox.Schedules {
		if s.Attempts != 0 && s.Attempts < 16 {
			t.Errorf("%s is given up after %d attempts", s.Kind, s.Attempts)
		}
		if s.Attempts != 0 && s.Stuck >= s.Attempts {
			t.Errorf("%s is given up before anybody hears that it is stuck", s.Kind)
		}
	}
	r := outbox.StatementRetries
	if r.Attempts < 16 {
		t.Errorf("a statement is given up after %d retries", r.Attempts)
	}
	last, all := time.Duration(0), time.Duration(0)
	for n := 1; n <= r.Attempts; n++ {
		d := r.After(n)
		if d < last || d <= last && d < r.Longest || d > r.Longest {
			t.Errorf("retry %d after %v, the one before after %v", n, d, last)
		}
		last, all = d, all+d
	}
	if all < time.Hour {
		t.Errorf("given up after %v: an outage that somebody has to repair takes longer", all)
	}
}
