package alert

import (
	"slices"
	"time"
)

// Stale is how old the last reading may be for the next one to go on from it:
// after a longer silence, what has to hold, or be quiet, begins anew.
const Stale = time.Minute

// Step takes one reading of one alert: nil is quiet. It returns the alert as it
// then is, and what people are to be told, nil for nothing. It is pure: the same
// alert, reading and time give the same answer, so that a restart neither
// repeats nor forgets.
//
// An episode begins with the first reading that says so and ends when it has
// been quiet for Quiet. Within it, a state is told once; again after Repeat, or
// when it has grown by Growth. What was told is told to be over. A snooze holds
// everything back but that end; what still lasts when it ends is told then.
func (r Rule) Step(a Alert, read *Reading, now time.Time) (Alert, *Notification) {
	a.Severity, a.Rule = r.Severity, r.Name
	if !a.ReadAt.IsZero() && now.Sub(a.ReadAt) > Stale {
		a = a.interrupted(now)
	}
	a.ReadAt = now
	if read != nil {
		a = r.on(a, *read, now)
	} else {
		a = r.off(a, now)
	}
	return r.tell(a, now)
}

// interrupted begins every wait anew.
func (a Alert) interrupted(now time.Time) Alert {
	if a.State == Pending {
		a.Since = now
	}
	if !a.OffSince.IsZero() {
		a.OffSince = now
	}
	if a.On {
		a.OnSince = now
	}
	return a
}

func (r Rule) on(a Alert, read Reading, now time.Time) Alert {
	if !a.On {
		a.OnSince = now
		if !a.SeenAt.IsZero() {
			a.Flips = append(slices.Clone(a.Flips), now)
		}
	}
	a.Flips = r.recent(a.Flips, now)
	a.On, a.SeenAt, a.OffSince = true, now, time.Time{}
	a.Count, a.Examples, a.Summary, a.Labels = read.Count, read.Examples, read.Summary, read.Labels
	flaps := r.Flips > 0 && len(a.Flips) >= r.Flips
	switch {
	case a.State == "" || a.State == Resolved:
		a.State, a.Since = Pending, now
	case a.State == Flapping && now.Sub(a.OnSince) >= r.Window:
		a.State = Firing // it has made up its mind
	}
	if a.State == Pending && now.Sub(a.OnSince) >= r.For {
		a.State = Firing
	}
	if flaps && a.State != Flapping && now.Sub(a.OnSince) < r.Window {
		a.State = Flapping
	}
	return a
}

func (r Rule) off(a Alert, now time.Time) Alert {
	if a.State == "" || a.State == Resolved {
		return a
	}
	if a.OffSince.IsZero() {
		a.OffSince = now
	}
	a.On = false
	switch quiet := now.Sub(a.OffSince); {
	case a.State == Pending, a.State == Firing && quiet >= r.Quiet, a.State == Flapping && quiet >= max(r.Quiet, r.Window):
		a.State, a.OffSince = Resolved, time.Time{}
	}
	return a
}

// recent drops what was longer ago than the window.
func (r Rule) recent(flips []time.Time, now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(flips), func(t time.Time) bool { return now.Sub(t) > r.Window })
}

// tell says what people have to hear of an alert that they were not told.
func (r Rule) tell(a Alert, now time.Time) (Alert, *Notification) {
	again := false
	switch {
	case a.State == Resolved && a.Told != "":
		n := r.notification(a, now, false)
		a.Told, a.ToldCount = "", 0
		return a, n
	case !a.Active() || a.Snooze != nil && a.Snooze.Covers(a, now):
		return a, nil
	case a.Told != a.State:
	case r.Repeat > 0 && now.Sub(a.NotifiedAt) >= r.Repeat, r.Growth > 0 && a.On && a.Count >= r.Growth*max(a.ToldCount, 1):
		again = true
	default:
		return a, nil
	}
	a.Told, a.ToldCount, a.NotifiedAt = a.State, a.Count, now
	return a, r.notification(a, now, again)
}

func (r Rule) notification(a Alert, now time.Time, again bool) *Notification {
	return &Notification{
		Key: a.Key, Seq: a.Version + 1, Rule: r.Name, Labels: a.Labels, Severity: r.Severity, State: a.State, Again: again,
		Summary: a.Summary, Count: a.Count, Examples: a.Examples, Runbook: r.Runbook, Since: a.Since, At: now,
	}
}
