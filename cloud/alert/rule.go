package alert

import (
	"context"
	"time"
)

// Reading is one level as it was just read: there is trouble. What a condition
// does not return is quiet.
type Reading struct {
	Labels   map[string]string
	Count    int64
	Examples []string
	Summary  string
}

// Condition reads its levels. An error means that they are unknown: nothing
// fires and nothing resolves for it.
type Condition func(ctx context.Context, now time.Time) ([]Reading, error)

// Rule says when a condition counts, and how often it is told.
type Rule struct {
	Name     string
	Severity Severity
	Help     string // what it is about, for docs and pages
	Runbook  string // what to do
	Read     Condition

	For    time.Duration // it must hold so long to fire; 0: at once
	Quiet  time.Duration // it must be quiet so long to resolve; 0: at once
	Repeat time.Duration // told again after so long; 0: never

	Flips  int           // it comes back so often within Window: it flaps; 0: never
	Window time.Duration // … and it must be quiet, or hold, so long to stop flapping

	Growth int64 // told again when it is about so many times as many as it was; 0: never

	Threshold int64         // what the condition compares with, in its own unit
	After     time.Duration // … and for how long, or over which time
}

// withDefaults damps a rule that says nothing about it.
func (r Rule) withDefaults() Rule {
	if r.Severity == "" {
		r.Severity = Warning
	}
	if r.Repeat == 0 {
		r.Repeat = 4 * time.Hour
	}
	if r.Quiet == 0 {
		r.Quiet = time.Minute
	}
	if r.Flips == 0 {
		r.Flips = 4
	}
	if r.Window == 0 {
		r.Window = 15 * time.Minute
	}
	if r.Growth == 0 {
		r.Growth = 5
	}
	return r
}
