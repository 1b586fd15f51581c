package presence_test

import (
	"testing"
	"time"

	"vendline/cloud/presence"
	"vendline/shared/wire"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

func birth(session string) wire.State {
	return wire.State{V: 1, Cabinet: "C001", Session: session, Online: true, Epoch: "e1", Agent: "1.0"}
}

func will(session string) wire.State {
	return wire.State{V: 1, Cabinet: "C001", Session: session, Epoch: "e1"}
}

func beat(session string, device time.Time) wire.Beat {
	return wire.Beat{V: 1, Cabinet: "C001", Session: session, Epoch: "e1", At: device.UnixMilli(), Depth: 7, Parked: 1, Uptime: 5000}
}

func health(t *testing.T, f *presence.Fleet, now time.Time, want presence.Health) presence.Cabinet {
	t.Helper()
	c, ok := f.Get("C001", now)
	if !ok || c.Health != want {
		t.Errorf("at %v the cabinet is %q (%v), want %q", now.Sub(start), c.Health, ok, want)
	}
	return c
}

func TestSilenceIsLateThenOffline(t *testing.T) {
	f := presence.New(presence.Options{})
	f.State(birth("s1"), at(0))
	f.Beat(beat("s1", at(0)), at(10*time.Second))
	health(t, f, at(30*time.Second), presence.Online)
	health(t, f, at(56*time.Second), presence.Late)
	c := health(t, f, at(10*time.Hour), presence.Offline)
	if c.Age != 10*time.Hour-10*time.Second {
		t.Errorf("age %v", c.Age)
	}
	f.Beat(beat("s1", at(10*time.Hour)), at(10*time.Hour))
	health(t, f, at(10*time.Hour), presence.Online)
}

func TestWillOfThePresentSessionCounts(t *testing.T) {
	f := presence.New(presence.Options{})
	f.State(birth("s1"), at(0))
	f.State(will("s1"), at(time.Second))
	health(t, f, at(time.Second), presence.Offline)
	f.Beat(beat("s1", at(0)), at(2*time.Second)) // was on its way
	f.State(birth("s1"), at(2*time.Second))      // likewise
	health(t, f, at(2*time.Second), presence.Offline)
	f.State(birth("s2"), at(3*time.Second))
	health(t, f, at(3*time.Second), presence.Online)
}

func TestLateWillOfAnotherSessionIsIgnored(t *testing.T) {
	f := presence.New(presence.Options{})
	f.State(birth("s1"), at(0))
	f.State(birth("s2"), at(time.Second))
	f.State(will("s1"), at(2*time.Second))
	health(t, f, at(2*time.Second), presence.Online)
	f.Beat(beat("s2", at(3*time.Second)), at(3*time.Second))
	if c := health(t, f, at(3*time.Second), presence.Online); c.Session != "s2" {
		t.Errorf("session %s", c.Session)
	}
}

func TestRetainedWillIsOffline(t *testing.T) {
	f := presence.New(presence.Options{})
	f.State(will("s1"), at(0))
	health(t, f, at(0), presence.Offline)
}

func TestBeatBringsUpASessionWhoseBirthWasMissed(t *testing.T) {
	f := presence.New(presence.Options{})
	f.State(will("s1"), at(0))
	f.Beat(beat("s2", at(0)), at(time.Second))
	health(t, f, at(time.Second), presence.Online)
}

func TestSkewIsFlagged(t *testing.T) {
	for name, tc := range map[string]struct {
		device time.Time
		flag   bool
	}{
		"right":          {at(0), false},
		"a minute ahead": {at(time.Minute), false},
		"a day ahead":    {at(24 * time.Hour), true},
		"in 2023":        {time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), true},
		"in 1970":        {time.UnixMilli(0), true},
	} {
		f := presence.New(presence.Options{})
		f.Beat(beat("s1", tc.device), at(0))
		c := health(t, f, at(0), presence.Online)
		if c.Skewed != tc.flag || c.Skew != tc.device.Sub(at(0)) {
			t.Errorf("%s: skew %v, flagged %v", name, c.Skew, c.Skewed)
		}
	}
}

func TestAllIsSortedAndCarriesWhatWasTold(t *testing.T) {
	f := presence.New(presence.Options{})
	s := birth("s1")
	s.Cabinet, s.Gap = "B", true
	f.State(s, at(0))
	f.Beat(beat("s1", at(0)), at(0))
	f.Answered("B", at(time.Second))
	all := f.All(at(time.Second))
	if len(all) != 2 || all[0].ID != "B" || all[1].ID != "C001" {
		t.Fatalf("all: %+v", all)
	}
	if !all[0].Gap || all[0].Agent != "1.0" || !all[0].Answered.Equal(at(time.Second)) {
		t.Errorf("%+v", all[0])
	}
	if all[1].Depth != 7 || all[1].Parked != 1 || all[1].Uptime != 5*time.Second {
		t.Errorf("%+v", all[1])
	}
	if _, ok := f.Get("nobody", at(0)); ok {
		t.Error("an unknown cabinet is known")
	}
}
