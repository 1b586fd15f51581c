// Package alert tells people what needs them: conditions of the fleet, read as
// levels every few seconds by one process at a time, held until they are sure,
// told once to every sink, told again as long as they last, and told to be over.
//
// Files, in the order of the data: conditions.go and provider.go (what is read),
// rule.go (when it counts), step.go (one alert, one reading), evaluator.go (all
// of them, over the store), carrier.go (notifications, on their way to sinks),
// away.go (when the store itself is away), snooze.go and config.go (what people
// say to it). Sinks are in their own folder.
package alert

import (
	"slices"
	"strings"
	"time"
)

// Severity says how soon a person should look.
type Severity string

// Severities.
const (
	Info     Severity = "info"     // some day
	Warning  Severity = "warning"  // today
	Critical Severity = "critical" // now
)

// Severities lists them, the mildest first.
var Severities = [...]Severity{Info, Warning, Critical}

// Covers reports whether s is at least as severe as least.
func (s Severity) Covers(least Severity) bool {
	return slices.Index(Severities[:], s) >= slices.Index(Severities[:], least)
}

// State is where an alert stands.
type State string

// States.
const (
	Pending  State = "pending"  // the condition holds, not yet for long enough
	Firing   State = "firing"   // it needs a person
	Flapping State = "flapping" // it comes and goes too often to tell each time
	Resolved State = "resolved" // it has been quiet for long enough
)

// Alert is one condition's durable state. Many cabinets with the same trouble
// are one alert with a count.
type Alert struct {
	Key      string // names it; see KeyOf
	Rule     string
	Labels   map[string]string
	Severity Severity
	State    State
	Version  int64 // raised by every write; 0: not written yet

	Since    time.Time   // when this state of affairs began: the first reading of the episode
	On       bool        // what the last reading said
	SeenAt   time.Time   // when a reading last said so
	OffSince time.Time   // since when readings say that it is quiet; zero while they do not
	OnSince  time.Time   // since when they say so without a break
	ReadAt   time.Time   // the last reading
	Flips    []time.Time // when it came back, lately

	Count    int64    // how many it is about
	Examples []string // some of them
	Summary  string

	Told       State // what people were last told in this episode; empty: nothing
	ToldCount  int64
	NotifiedAt time.Time

	Snooze *Snooze // nil: it is not snoozed
}

// Active reports whether an alert needs a person.
func (a Alert) Active() bool { return a.State == Firing || a.State == Flapping }

// Snooze keeps alerts from being told, until it ends. They still show, and the
// end of what was told is told all the same.
type Snooze struct {
	ID     string
	Key    string            // of one alert; empty: Rule and Labels say which
	Rule   string            // with Labels: every alert of the rule that has them all
	Labels map[string]string // likewise
	Until  time.Time
	Reason string
	By     string
	At     time.Time
}

// Covers reports whether a snooze is for an alert, now.
func (s Snooze) Covers(a Alert, now time.Time) bool {
	if !now.Before(s.Until) {
		return false
	}
	if s.Key != "" {
		return s.Key == a.Key
	}
	if s.Rule != a.Rule {
		return false
	}
	for k, v := range s.Labels {
		if a.Labels[k] != v {
			return false
		}
	}
	return true
}

// Event is something that became of an alert, or was done about one.
type Event struct {
	ID   string
	Key  string
	At   time.Time
	Who  string
	What string // pending, firing, flapping, repeated, resolved, snoozed, snooze_ended
	Note string
}

// Evaluating is who an event's author is when it was no person.
const Evaluating = "vend-cloud"

// Notification is what a sink is told: one change of one alert, complete in
// itself.
type Notification struct {
	ID       string            `json:"id"` // the same however often it is sent
	Sink     string            `json:"sink"`
	Key      string            `json:"key"`
	Seq      int64             `json:"seq"` // rises with every change of the alert
	Rule     string            `json:"rule"`
	Labels   map[string]string `json:"labels,omitempty"`
	Severity Severity          `json:"severity"`
	State    State             `json:"state"`
	Again    bool              `json:"again,omitempty"` // it was told before, and lasts
	Summary  string            `json:"summary"`
	Count    int64             `json:"count"`
	Examples []string          `json:"examples,omitempty"`
	Runbook  string            `json:"runbook"`
	Since    time.Time         `json:"since"`
	At       time.Time         `json:"at"` // when it was decided
	URL      string            `json:"url,omitempty"`
}

// KeyOf names an alert: its rule, and the values of its labels in the order of
// their names. It can stand in a path as it is.
func KeyOf(rule string, labels map[string]string) string {
	names := make([]string, 0, len(labels))
	for n := range labels {
		names = append(names, n)
	}
	slices.Sort(names)
	key := rule
	for _, n := range names {
		key += ":" + plain(labels[n])
	}
	return key[:min(len(key), maxKey)]
}

// maxKey is the longest key.
const maxKey = 128

// plain keeps what needs no escape anywhere.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, s)
}
