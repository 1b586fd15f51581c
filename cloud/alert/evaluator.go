package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Defaults of an Evaluator.
const (
	Every    = 5 * time.Second
	Lease    = 20 * time.Second
	patience = 5 * time.Second // with one condition
	refresh  = 20 * time.Second
)

// ErrOvertaken says that a change was not written: the lease is another
// process's by now, or the alert has changed since it was read.
var ErrOvertaken = errors.New("alert: another process has evaluated it")

// Change is an alert's next state with all that it entails.
type Change struct {
	Alert         Alert // Version is what it was read at
	Event         string
	Note          string
	Notifications []Notification // one per sink; each has its id
}

// Store keeps alerts.
type Store interface {
	// HoldAlerts takes the evaluator's lease, or keeps it, until some time from
	// now; false: another process has it. A time of 0 gives it back.
	HoldAlerts(ctx context.Context, holder string, d time.Duration) (bool, error)
	// Alerts returns every alert there is, with the snooze that covers it.
	Alerts(ctx context.Context) ([]Alert, error)
	// SaveAlert writes a change in one transaction: the alert's row if its version
	// is still the one that was read and holder still has the lease, the event, and
	// an outbox row per notification. Else nothing, and ErrOvertaken.
	SaveAlert(ctx context.Context, holder string, c Change) error
}

// Route is where notifications go.
type Route struct {
	Sink  string
	Least Severity // the mildest it wants to hear of
}

// Evaluator reads all conditions and moves all alerts on. Only the process that
// holds the lease does.
//
// Promise: every change of state that people have to hear of is told to each
// sink, once. The transaction that changes the state writes the notifications.
// Dies before its commit: the change is not made, and the next reading, here or
// elsewhere, makes it. Dies after: the outbox rows are there, and are carried.
// Two at once (a lease that ended while its holder was busy): the second finds
// the version moved and writes nothing.
type Evaluator struct {
	Store  Store
	Rules  []Rule
	Routes []Route
	Holder string // names this process; no other may have the name
	Every  time.Duration
	Lease  time.Duration
	URL    string // of the page, for notifications
	Clock  func() time.Time
	ID     func() string
	Log    *slog.Logger

	mu      sync.Mutex
	unknown map[string]string // rule → why its level is not known
	holds   bool
}

// Run evaluates until ctx ends, then gives the lease back.
func (e *Evaluator) Run(ctx context.Context) {
	every := e.Every
	if every <= 0 {
		every = Every
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := e.Evaluate(ctx); err != nil && ctx.Err() == nil {
			e.Log.Warn("alerts could not be evaluated; the next time will", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if e.Holds() {
				_, _ = e.Store.HoldAlerts(ctx, e.Holder, 0) // else it ends by itself
			}
			return
		}
	}
}

// Holds reports whether this process evaluated last.
func (e *Evaluator) Holds() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.holds
}

// Unknown tells why rules cannot be read, by rule, as this process found.
func (e *Evaluator) Unknown() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[string]string, len(e.unknown))
	for k, v := range e.unknown {
		out[k] = v
	}
	return out
}

// Evaluate reads every condition once, if this process holds the lease.
func (e *Evaluator) Evaluate(ctx context.Context) error {
	lease := e.Lease
	if lease <= 0 {
		lease = Lease
	}
	ok, err := e.Store.HoldAlerts(ctx, e.Holder, lease)
	e.mu.Lock()
	e.holds = ok && err == nil
	e.mu.Unlock()
	if err != nil || !ok {
		return err
	}
	alerts, err := e.Store.Alerts(ctx)
	if err != nil {
		return err
	}
	now := e.Clock()
	read := e.readAll(ctx, now)
	var failed error
	for _, c := range e.changes(alerts, read, now) {
		switch err := e.Store.SaveAlert(ctx, e.Holder, c); {
		case errors.Is(err, ErrOvertaken):
			return nil // whoever it was goes on
		case err != nil:
			failed = fmt.Errorf("alert: save %s: %w", c.Alert.Key, err)
		}
	}
	return failed
}

// levels are a rule's readings by key; bad says why there are none.
type levels struct {
	at  map[string]Reading
	bad error
}

// readAll reads all conditions at once: one that hangs costs its patience.
func (e *Evaluator) readAll(ctx context.Context, now time.Time) map[string]levels {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type answer struct {
		rule string
		levels
	}
	answers := make(chan answer, len(e.Rules))
	for _, r := range e.Rules {
		go func() {
			got, err := r.Read(ctx, now)
			at := make(map[string]Reading, len(got))
			for _, g := range got {
				at[KeyOf(r.Name, g.Labels)] = g
			}
			answers <- answer{r.Name, levels{at, err}}
		}()
	}
	out := make(map[string]levels, len(e.Rules))
	unknown := map[string]string{}
	for range e.Rules {
		select {
		case a := <-answers:
			out[a.rule] = a.levels
		case <-ctx.Done():
		}
	}
	for _, r := range e.Rules {
		l, ok := out[r.Name]
		if !ok {
			l.bad = fmt.Errorf("it did not answer within %s", patience)
			out[r.Name] = l
		}
		if l.bad != nil {
			unknown[r.Name] = l.bad.Error()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for rule, why := range unknown {
		if e.unknown[rule] == "" {
			e.Log.Warn("a condition cannot be read: its alerts stay as they are", "rule", rule, "error", why)
		}
	}
	e.unknown = unknown
	return out
}

// changes steps every alert, in the order of their keys.
func (e *Evaluator) changes(alerts []Alert, read map[string]levels, now time.Time) []Change {
	var out []Change
	known := map[string]bool{}
	step := func(r Rule, was Alert, reading *Reading) {
		next, n := r.Step(was, reading, now)
		if n == nil && !worthWriting(was, next) {
			return
		}
		out = append(out, e.change(r, was, next, n))
	}
	for _, a := range alerts {
		known[a.Key] = true
		i := slices.IndexFunc(e.Rules, func(r Rule) bool { return r.Name == a.Rule })
		if i < 0 { // a rule that is off: what it told comes to an end
			step(Rule{Name: a.Rule, Severity: a.Severity, Runbook: "The rule was turned off."}, a, nil)
			continue
		}
		l := read[a.Rule]
		if l.bad != nil {
			continue
		}
		if g, ok := l.at[a.Key]; ok {
			step(e.Rules[i], a, &g)
		} else {
			step(e.Rules[i], a, nil)
		}
	}
	for _, r := range e.Rules {
		if read[r.Name].bad != nil {
			continue
		}
		for key, g := range read[r.Name].at {
			if !known[key] {
				step(r, Alert{Key: key, Labels: g.Labels}, &g)
			}
		}
	}
	return out
}

// worthWriting keeps readings that say the same again from being written each
// time.
func worthWriting(was, next Alert) bool {
	if was.State != next.State || was.On != next.On || was.Count != next.Count || len(was.Flips) != len(next.Flips) || was.OffSince != next.OffSince || was.OnSince != next.OnSince {
		return true
	}
	return next.State != Resolved && next.ReadAt.Sub(was.ReadAt) >= refresh
}

func (e *Evaluator) change(r Rule, was, next Alert, n *Notification) Change {
	c := Change{Alert: next}
	if was.State != next.State {
		c.Event, c.Note = string(next.State), next.Summary
	}
	if n == nil {
		return c
	}
	if n.Again {
		c.Event, c.Note = "repeated", next.Summary
	}
	for _, to := range e.Routes {
		if !r.Severity.Covers(to.Least) {
			continue
		}
		one := *n
		one.ID, one.Sink, one.URL = e.ID(), to.Sink, e.URL
		c.Notifications = append(c.Notifications, one)
	}
	return c
}
