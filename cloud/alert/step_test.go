package alert_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"vendline/cloud/alert"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ruleOf(change func(*alert.Rule)) alert.Rule {
	r := alert.Rule{Name: "r", Severity: alert.Warning, For: 30 * time.Second, Quiet: time.Minute, Repeat: time.Hour, Flips: 3, Window: 10 * time.Minute, Growth: 5, Runbook: "do this"}
	if change != nil {
		change(&r)
	}
	return r
}

// play feeds readings, one every ten seconds: '#' says so, '.' is quiet, '?' is
// a reading that failed, '~' ten minutes without a process. It returns what was
// told, by step.
func play(r alert.Rule, script string) (told []string, a alert.Alert) {
	a = alert.Alert{Key: "r"}
	now := begin
	for i, c := range script {
		var read *alert.Reading
		switch c {
		case '?':
			now = now.Add(10 * time.Second)
			continue
		case '~':
			now = now.Add(10 * time.Minute)
			continue
		case '#':
			read = &alert.Reading{Count: 1, Summary: "bad"}
		case '9':
			read = &alert.Reading{Count: 9, Summary: "worse"}
		}
		var n *alert.Notification
		if a, n = r.Step(a, read, now); n != nil {
			again := ""
			if n.Again {
				again = " again"
			}
			told = append(told, fmt.Sprintf("%d %s%s", i, n.State, again))
		}
		a.Version++
		now = now.Add(10 * time.Second)
	}
	return told, a
}

func TestAnAlertFiresWhenItHoldsAndResolvesWhenItIsQuiet(t *testing.T) {
	for _, c := range []struct {
		name, script string
		change       func(*alert.Rule)
		want         []string
	}{
		{"a moment is no alert", "##....", nil, nil},
		{"it holds", "####", nil, []string{"3 firing"}},
		{"it is told once", "##########", nil, []string{"3 firing"}},
		{"at once", "#", func(r *alert.Rule) { r.For = 0 }, []string{"0 firing"}},
		{"quiet for too short a time", "####.....#", nil, []string{"3 firing"}},
		{"quiet", "####.......", nil, []string{"3 firing", "10 resolved"}},
		{"twice", "####.......####", nil, []string{"3 firing", "10 resolved", "14 firing"}},
		{"unknown is neither", "####.??????????.......", nil, []string{"3 firing", "21 resolved"}},
		{"repeated", "####" + repeat("#", 12), func(r *alert.Rule) { r.Repeat = time.Minute }, []string{"3 firing", "9 firing again", "15 firing again"}},
		{"not after a time without a reading", "###~#", nil, nil},
		{"nor over by one", "####.~......", nil, []string{"3 firing"}},
		{"over when it was seen to be quiet", "####.~.......", nil, []string{"3 firing", "12 resolved"}},
		{"many more are news", "####99", nil, []string{"3 firing", "4 firing again"}},
		{"flapping is told once", "#.#.#.#.#.#.#.", nil, []string{"6 flapping"}},
		{"flapping after firing", "####.#.#.#.#.#.", nil, []string{"3 firing", "9 flapping"}},
		{"flapping ends when it is quiet for the window", "#.#.#.#" + repeat(".", 61), nil, []string{"6 flapping", "67 resolved"}},
		{"or when it holds for the window", "#.#.#.#" + repeat("#", 60), nil, []string{"6 flapping", "66 firing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if told, _ := play(ruleOf(c.change), c.script); fmt.Sprint(told) != fmt.Sprint(c.want) {
				t.Errorf("told %v, want %v", told, c.want)
			}
		})
	}
}

func repeat(s string, n int) (out string) {
	for range n {
		out += s
	}
	return out
}

func TestASnoozedAlertIsToldWhenTheSnoozeEnds(t *testing.T) {
	r := ruleOf(func(r *alert.Rule) { r.For = 0 })
	a := alert.Alert{Key: "r", Snooze: &alert.Snooze{Key: "r", Until: begin.Add(time.Minute)}}
	bad := &alert.Reading{Count: 1}
	a, n := r.Step(a, bad, begin)
	if n != nil || a.State != alert.Firing {
		t.Errorf("told %v of %s: it is snoozed, and shows", n, a.State)
	}
	if a, n = r.Step(a, bad, begin.Add(59*time.Second)); n != nil {
		t.Errorf("told %v before the snooze is over", n)
	}
	if a, n = r.Step(a, bad, begin.Add(time.Minute)); n == nil || n.State != alert.Firing {
		t.Fatalf("told %v when the snooze is over", n)
	}
	a.Snooze = &alert.Snooze{Key: "r", Until: begin.Add(time.Hour)}
	a, _ = r.Step(a, nil, begin.Add(61*time.Second))
	if _, n = r.Step(a, nil, begin.Add(121*time.Second)); n == nil || n.State != alert.Resolved {
		t.Errorf("told %v at the end of what was told", n)
	}
}

// Whatever a condition does: nothing is told twice, what outlives its damping is
// told, and what was told is told to be over.
func TestPropertyEveryStateIsToldOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := ruleOf(func(r *alert.Rule) {
			r.For = time.Duration(rapid.IntRange(0, 6).Draw(t, "for")) * 10 * time.Second
			r.Quiet = time.Duration(rapid.IntRange(0, 6).Draw(t, "quiet")) * 10 * time.Second
			r.Flips, r.Growth, r.Repeat = rapid.IntRange(0, 5).Draw(t, "flips"), 0, 0
		})
		a := alert.Alert{Key: "r"}
		now, held, quiet := begin, time.Duration(0), time.Duration(0)
		var told alert.State
		last := int64(-1)
		step := func(on bool) {
			var read *alert.Reading
			if on {
				read, quiet = &alert.Reading{Count: 1}, 0
			} else {
				held = 0
			}
			var n *alert.Notification
			a, n = r.Step(a, read, now)
			if n != nil {
				switch {
				case n.State == told || n.State == alert.Resolved && told == "":
					t.Fatalf("told %s after %q", n.State, told)
				case n.Seq <= last:
					t.Fatalf("seq %d after %d", n.Seq, last)
				case n.Again:
					t.Fatalf("told again, and nothing repeats")
				}
				if told, last = n.State, n.Seq; told == alert.Resolved {
					told = ""
				}
			}
			if on && held >= r.For && told == "" {
				t.Fatalf("it held for %v and nobody was told", held)
			}
			if !on && quiet >= max(r.Quiet, r.Window) && told != "" {
				t.Fatalf("quiet for %v, and %s was not told to be over", quiet, told)
			}
			if on {
				held += 10 * time.Second
			} else {
				quiet += 10 * time.Second
			}
			a.Version++
			now = now.Add(10 * time.Second)
		}
		for range rapid.IntRange(1, 30).Draw(t, "spells") {
			on := rapid.Bool().Draw(t, "on")
			for range rapid.IntRange(1, 12).Draw(t, "readings") {
				step(on)
			}
		}
		for range 70 {
			step(false)
		}
		if told != "" || a.State != alert.Resolved && a.State != "" {
			t.Fatalf("at the end it is %s, and %q was told", a.State, told)
		}
	})
}
