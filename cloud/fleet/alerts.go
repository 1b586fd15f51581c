package fleet

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"net/http"
	"slices"
	"time"

	"vendline/cloud/alert"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

//go:embed page/alerts.html
var alertsHTML string

//go:embed page/alerts.js
var alertsJS string

// Alerts is what needs people, and what they say to it.
type Alerts interface {
	// Alerts returns every alert there is; the resolved ones too.
	Alerts(ctx context.Context) ([]alert.Alert, error)
	// AlertEvents returns the newest n events of alerts.
	AlertEvents(ctx context.Context, n int) ([]alert.Event, error)
	// Snoozes returns those in force; Snooze begins one, EndSnooze ends that of an
	// alert's key, or one by its id: alert.ErrNoSnooze if there is none.
	Snoozes(ctx context.Context) ([]alert.Snooze, error)
	Snooze(ctx context.Context, s alert.Snooze) error
	EndSnooze(ctx context.Context, keyOrID, who string) error
	// Rules are all rules in force; Unknown says of some why they cannot be read.
	Rules() []alert.Rule
	Unknown() map[string]string
	// Sinks are the names of all sinks; Test tells one of them something.
	Sinks() []string
	Test(ctx context.Context, sink string) error
	NewID() string
}

type alertView struct {
	Key      string            `json:"key"`
	Rule     string            `json:"rule"`
	Labels   map[string]string `json:"labels"`
	Severity string            `json:"severity"`
	State    string            `json:"state"`
	Since    int64             `json:"since"` // Unix ms
	Seen     int64             `json:"seen"`
	Notified *int64            `json:"notified"` // null: nobody was told
	Count    int64             `json:"count"`
	Examples []string          `json:"examples"`
	Summary  string            `json:"summary"`
	Runbook  string            `json:"runbook"`
	Snooze   *snoozeView       `json:"snooze"`
}

type snoozeView struct {
	ID     string            `json:"id"`
	Key    string            `json:"key,omitempty"`
	Rule   string            `json:"rule,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Until  int64             `json:"until"` // Unix ms
	Reason string            `json:"reason"`
	By     string            `json:"by"`
	At     int64             `json:"at"`
}

type alertEventView struct {
	At   int64  `json:"at"` // Unix ms
	Key  string `json:"key"`
	What string `json:"what"`
	Who  string `json:"who"`
	Note string `json:"note"`
}

type ruleView struct {
	Name     string `json:"name"`
	Severity string `json:"severity"`
	Help     string `json:"help"`
	Runbook  string `json:"runbook"`
	Unknown  string `json:"unknown,omitempty"` // why it cannot be read now, by this process
}

func snoozeOf(s alert.Snooze) snoozeView {
	return snoozeView{s.ID, s.Key, s.Rule, s.Labels, s.Until.UnixMilli(), s.Reason, s.By, s.At.UnixMilli()}
}

func alertOf(a alert.Alert, rules []alert.Rule) alertView {
	v := alertView{Key: a.Key, Rule: a.Rule, Labels: a.Labels, Severity: string(a.Severity), State: string(a.State), Since: a.Since.UnixMilli(),
		Seen: a.SeenAt.UnixMilli(), Count: a.Count, Examples: append([]string{}, a.Examples...), Summary: a.Summary}
	if v.Labels == nil {
		v.Labels = map[string]string{}
	}
	if !a.NotifiedAt.IsZero() {
		at := a.NotifiedAt.UnixMilli()
		v.Notified = &at
	}
	if i := slices.IndexFunc(rules, func(r alert.Rule) bool { return r.Name == a.Rule }); i >= 0 {
		v.Runbook = rules[i].Runbook
	}
	if a.Snooze != nil {
		s := snoozeOf(*a.Snooze)
		v.Snooze = &s
	}
	return v
}

func (f *Fleet) alerts() (Alerts, error) {
	if f.opt.Alerts == nil {
		return nil, &order.Refusal{Code: wire.CodeNotFound, Detail: "this service evaluates no alerts"}
	}
	return f.opt.Alerts, nil
}

// readAlerts answers GET /v1/fleet/alerts: what is pending or fires, the worst
// first, snoozes in force, recent history, and the rules.
func (f *Fleet) readAlerts(w http.ResponseWriter, r *http.Request) {
	v, err := f.alertPage(r.Context())
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, v)
}

type alertPage struct {
	At      int64            `json:"at"`
	Alerts  []alertView      `json:"alerts"`
	Snoozes []snoozeView     `json:"snoozes"`
	Events  []alertEventView `json:"events"`
	Rules   []ruleView       `json:"rules"`
	Sinks   []string         `json:"sinks"`
}

// shownEvents is how much history a page shows.
const shownEvents = 50

func (f *Fleet) alertPage(ctx context.Context) (alertPage, error) {
	source, err := f.alerts()
	if err != nil {
		return alertPage{}, err
	}
	v := alertPage{At: f.opt.Clock().UnixMilli(), Alerts: []alertView{}, Snoozes: []snoozeView{}, Events: []alertEventView{}, Rules: []ruleView{}, Sinks: source.Sinks()}
	all, err := source.Alerts(ctx)
	if err != nil {
		return v, err
	}
	snoozes, err := source.Snoozes(ctx)
	if err != nil {
		return v, err
	}
	events, err := source.AlertEvents(ctx, shownEvents)
	if err != nil {
		return v, err
	}
	slices.SortStableFunc(all, func(a, b alert.Alert) int {
		rank := func(a alert.Alert) int { return slices.Index(alert.Severities[:], a.Severity) }
		return cmp.Or(cmp.Compare(rank(b), rank(a)), b.Since.Compare(a.Since))
	})
	rules := source.Rules()
	for _, a := range all {
		if a.State != alert.Resolved && a.State != "" {
			v.Alerts = append(v.Alerts, alertOf(a, rules))
		}
	}
	for _, s := range snoozes {
		v.Snoozes = append(v.Snoozes, snoozeOf(s))
	}
	for _, e := range events {
		v.Events = append(v.Events, alertEventView{e.At.UnixMilli(), e.Key, e.What, e.Who, e.Note})
	}
	unknown := source.Unknown()
	for _, r := range rules {
		v.Rules = append(v.Rules, ruleView{r.Name, string(r.Severity), r.Help, r.Runbook, unknown[r.Name]})
	}
	return v, nil
}

type snoozeBody struct {
	For    string `json:"for"`
	Reason string `json:"reason"`
	By     string `json:"by"`
}

type snoozeRuleBody struct {
	Rule   string      `json:"rule"`
	Labels []labelBody `json:"labels"`
	For    string      `json:"for"`
	Reason string      `json:"reason"`
	By     string      `json:"by"`
}

type labelBody struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// snoozeAlert answers POST /v1/fleet/alerts/{key}/snooze: that alert is not told
// for a while.
func (f *Fleet) snoozeAlert(w http.ResponseWriter, r *http.Request) {
	var b snoozeBody
	err := f.host.ReadJSON(w, r, &b)
	key := r.PathValue("key")
	source, none := f.alerts()
	if err = cmp.Or(err, none); err == nil {
		var all []alert.Alert
		all, err = source.Alerts(r.Context())
		if err == nil && !slices.ContainsFunc(all, func(a alert.Alert) bool { return a.Key == key }) {
			err = &order.Refusal{Code: wire.CodeNotFound, Detail: "no alert has this key; GET /v1/fleet/alerts lists them"}
		}
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.beginSnooze(w, r, source, alert.Snooze{Key: key, Reason: b.Reason, By: b.By}, b.For)
}

// snoozeRule answers POST /v1/fleet/snoozes: alerts of a rule, with some labels,
// are not told for a while, those too that are not there yet.
func (f *Fleet) snoozeRule(w http.ResponseWriter, r *http.Request) {
	var b snoozeRuleBody
	err := f.host.ReadJSON(w, r, &b)
	source, none := f.alerts()
	if err = cmp.Or(err, none); err == nil && !slices.ContainsFunc(source.Rules(), func(r alert.Rule) bool { return r.Name == b.Rule }) {
		err = &wire.FieldError{Path: "rule", Problem: "names no rule"}
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	s := alert.Snooze{Rule: b.Rule, Labels: map[string]string{}, Reason: b.Reason, By: b.By}
	for _, l := range b.Labels {
		s.Labels[l.Name] = l.Value
	}
	f.beginSnooze(w, r, source, s, b.For)
}

func (f *Fleet) beginSnooze(w http.ResponseWriter, r *http.Request, source Alerts, s alert.Snooze, lasts string) {
	d, err := time.ParseDuration(lasts)
	if err != nil {
		f.host.Refuse(w, r, &wire.FieldError{Path: "for", Problem: "must be a time like 30m or 2h"})
		return
	}
	s.ID, s.At = source.NewID(), f.opt.Clock()
	s.By, s.Until = cmp.Or(s.By, "operator"), s.At.Add(d)
	if err = s.Check(); err == nil {
		err = source.Snooze(r.Context(), s)
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, map[string]any{"at": s.At.UnixMilli(), "snooze": snoozeOf(s)})
}

// endSnooze answers DELETE /v1/fleet/alerts/{key}/snooze, key being an alert's,
// or a snooze's id.
func (f *Fleet) endSnooze(w http.ResponseWriter, r *http.Request) {
	source, err := f.alerts()
	if err == nil {
		err = source.EndSnooze(r.Context(), r.PathValue("key"), cmp.Or(r.URL.Query().Get("by"), "operator"))
	}
	if errors.Is(err, alert.ErrNoSnooze) {
		err = &order.Refusal{Code: wire.CodeNotFound, Detail: "no snooze of this alert is in force"}
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	f.write(w, map[string]any{"at": f.opt.Clock().UnixMilli(), "ended": true})
}

// testSink answers POST /v1/fleet/sinks/{name}/test: it is told something now,
// past the outbox.
func (f *Fleet) testSink(w http.ResponseWriter, r *http.Request) {
	source, err := f.alerts()
	name := r.PathValue("name")
	if err == nil && !slices.Contains(source.Sinks(), name) {
		err = &order.Refusal{Code: wire.CodeNotFound, Detail: "no sink has this name"}
	}
	if err != nil {
		f.host.Refuse(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), writeLimit)
	defer cancel()
	answer := struct {
		At    int64  `json:"at"`
		Sink  string `json:"sink"`
		Told  bool   `json:"told"`
		Error string `json:"error,omitempty"`
	}{f.opt.Clock().UnixMilli(), name, true, ""}
	if err := source.Test(ctx, name); err != nil {
		answer.Told, answer.Error = false, err.Error()
	}
	f.write(w, answer)
}
