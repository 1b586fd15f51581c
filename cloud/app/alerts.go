package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vendline/cloud/alert"
	"vendline/cloud/alert/sinks"
	"vendline/cloud/callback"
	"vendline/cloud/letter"
	"vendline/cloud/outbox"
	"vendline/cloud/presence"
	"vendline/shared/wire"
)

// alerts is what tells people.
type alerts struct {
	rules     []alert.Rule
	sinks     []alert.Sink
	carrier   *alert.Carrier
	evaluator *alert.Evaluator // nil unless the reconcile role is played here
	away      *alert.Away
	began     time.Time
}

// startAlerts reads conditions where the reconcile role is played, by one
// process at a time, and carries notifications where the relay's is. That the
// database is away is told by each process for itself.
func (a *App) startAlerts(context.Context) error {
	config, dir, err := readAlerts(a.Config.Alerts)
	if err != nil {
		return err
	}
	all, routes, err := a.openSinks(config, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", a.Config.Alerts, err)
	}
	rules := slices.DeleteFunc(alert.Builtin(a.alertSources(), config.Adjust), func(r alert.Rule) bool { return config.Off(r.Name) })
	a.alerts = alerts{rules: rules, sinks: all, began: a.Deps.Clock()}
	page := a.Config.publicURL() + "/alerts"
	s := outbox.ScheduleOf(outbox.KindAlert)
	a.alerts.carrier = &alert.Carrier{Outbox: a.Ledger, Sinks: all, Clock: a.Deps.Clock, Log: a.Deps.Log}
	a.start(a.alerts.carrier.Run)
	a.carry(&outbox.Runner{Kind: outbox.KindAlert, Carry: a.alerts.carrier.Carry, Lease: s.First, Longest: s.Longest})
	if i := slices.IndexFunc(rules, func(r alert.Rule) bool { return r.Name == alert.DatabaseAway }); i >= 0 {
		a.alerts.away = &alert.Away{Ping: a.Ledger.Ping, Rule: rules[i], Instance: a.Config.Instance, Sinks: all, Routes: routes, URL: page,
			Clock: a.Deps.Clock, ID: a.Deps.ID, Log: a.Deps.Log}
		a.start(a.alerts.away.Run)
	}
	if !a.Config.has(RoleReconcile) {
		return nil
	}
	a.alerts.evaluator = &alert.Evaluator{
		Store: a.Ledger, Rules: slices.DeleteFunc(slices.Clone(rules), func(r alert.Rule) bool { return r.Read == nil }), Routes: routes,
		Holder: cmp.Or(a.Config.Instance, "cloud") + " " + a.Deps.Token(), URL: page, Clock: a.Deps.Clock, ID: a.Deps.ID, Log: a.Deps.Log,
	}
	a.start(a.alerts.evaluator.Run)
	return nil
}

// readAlerts reads an --alerts file; none is the defaults.
func readAlerts(path string) (c alert.Config, dir string, err error) {
	if path == "" {
		return c, "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return c, "", err
	}
	if c, err = alert.ReadConfig(data); err != nil {
		return c, "", fmt.Errorf("%s: %w", path, err)
	}
	return c, filepath.Dir(path), nil
}

// openSinks opens the sinks that a config names; the log if there is none.
func (a *App) openSinks(c alert.Config, dir string) (all []alert.Sink, routes []alert.Route, err error) {
	if len(c.Sinks) == 0 {
		c.Sinks = []alert.SinkConfig{{Kind: alert.SinkLog}}
	}
	for i, s := range c.Sinks {
		bad := func(field string, err error) error {
			return &wire.FieldError{Path: fmt.Sprintf("sinks[%d].%s", i, field), Problem: err.Error()}
		}
		url := s.URL
		if s.URLFile != "" {
			if url, err = secretFrom(dir, s.URLFile); err != nil {
				return nil, nil, bad("url_file", err)
			}
		}
		var secret string
		if s.SecretFile != "" {
			if secret, err = secretFrom(dir, s.SecretFile); err != nil {
				return nil, nil, bad("secret_file", err)
			}
			if len(secret) < minSecret && s.Kind == alert.SinkWebhook {
				return nil, nil, bad("secret_file", fmt.Errorf("holds %d bytes; a secret needs %d at least", len(secret), minSecret))
			}
		}
		var guard sinks.Guard = callback.Policy{}
		if s.Private {
			guard = sinks.Private{}
		}
		var sink alert.Sink
		switch s.Kind {
		case alert.SinkLog:
			sink = sinks.Log{Called: s.Called(), Log: a.Deps.Log}
		case alert.SinkWebhook:
			sink, err = sinks.NewWebhook(s.Called(), url, []byte(secret), webhookSignature, guard, a.Deps.Clock)
		case alert.SinkDingTalk:
			sink, err = sinks.NewDingTalk(s.Called(), url, []byte(secret), guard, a.Deps.Clock)
		case alert.SinkAlertmanager:
			sink, err = sinks.NewAlertmanager(s.Called(), url, guard)
		}
		if err != nil {
			return nil, nil, bad("url", fmt.Errorf("%w; say \"private\": true for one on your own network", err))
		}
		all = append(all, sink)
		routes = append(routes, alert.Route{Sink: s.Called(), Least: cmp.Or(alert.Severity(s.Least), alert.Info)})
	}
	return all, routes, nil
}

// webhookSignature signs as callbacks are signed.
var webhookSignature = sinks.Signature{Timestamp: callback.HeaderTimestamp, ID: callback.HeaderID, Signature: callback.HeaderSignature, Sign: callback.Sign}

// secretFrom reads a file that a config names, beside it.
func secretFrom(dir, file string) (string, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if s := strings.TrimSpace(string(b)); s != "" {
		return s, nil
	}
	return "", errors.New("is empty: " + file)
}

// errUnheard says that this process does not know how cabinets are.
var errUnheard = errors.New("this process hears no cabinets (role intake), or not for long enough")

// heardAfter is how long a process listens before it says that a cabinet is silent.
const heardAfter = 2 * time.Minute

// alertSources is what conditions read of this process and its ledger.
func (a *App) alertSources() alert.Sources {
	s := alert.Sources{
		Shortages: a.Ledger.ShortageFacts, Drift: a.Ledger.DriftFacts, Cases: a.Ledger.OpenCases, Ping: a.Ledger.Ping,
		Letters: a.letterGroup, Backlogs: a.alertBacklogs,
		Calls: func() (int64, int64) {
			return a.Payments.Counters.ProviderCalls.Load(), a.Payments.Counters.ProviderFailures.Load()
		},
	}
	if a.Config.MQTT != "" && a.Config.has(RoleIntake) {
		s.Cabinets = a.alertCabinets
	}
	if a.queue != nil {
		s.Depth = a.depth
	}
	if a.Config.Mode == ModeSync {
		return s
	}
	s.Findings = a.findingGroup
	s.Incidents = a.incidentGroup
	s.RedisAway = a.redisAway
	return s
}

func (a *App) redisAway() string {
	if a.watch != nil {
		if _, why := a.watch.Away(); why != nil {
			return why.Error()
		}
	}
	if a.away() {
		return "the circuit breaker is open"
	}
	return ""
}

func (a *App) letterGroup(ctx context.Context, n int) (alert.Group, error) {
	total, err := a.Ledger.CountLetters(ctx)
	if err != nil || total == 0 {
		return alert.Group{}, err
	}
	page, err := a.Ledger.FindLetters(ctx, letter.Filter{Limit: n})
	g := alert.Group{}
	for _, l := range page.Letters {
		g.Add(l.Source + " (" + l.Reason[:min(len(l.Reason), 60)] + ")")
	}
	for i, text := range g.Examples {
		g.Examples[i] = strings.ToValidUTF8(text, "")
	}
	g.Count = total
	return g, err
}

func (a *App) findingGroup(ctx context.Context, since time.Time, _ int) (alert.Group, error) {
	found, err := a.Ledger.Findings(ctx, since, 1000)
	var g alert.Group
	for _, f := range found {
		g.Add(f.Cabinet)
	}
	return g, err
}

func (a *App) incidentGroup(ctx context.Context, since time.Time, _ int) (alert.Group, error) {
	found, err := a.Ledger.Incidents(ctx, since, 1000)
	var g alert.Group
	for _, i := range found {
		g.Add(strings.TrimSpace(string(i.Reason) + " " + cmp.Or(i.Cabinet, i.Place)))
	}
	return g, err
}

// alertBacklogs leaves out kinds whose rows wait by their nature.
func (a *App) alertBacklogs(ctx context.Context) ([]alert.Backlog, error) {
	stats, err := a.Ledger.Backlog(ctx)
	var out []alert.Backlog
	for _, s := range stats {
		if outbox.ScheduleOf(s.Kind).Stuck > 0 && s.Kind != outbox.KindAlert {
			out = append(out, alert.Backlog{Kind: string(s.Kind), Depth: s.Depth, Oldest: s.Oldest})
		}
	}
	return out, err
}

func (a *App) alertCabinets(now time.Time) ([]alert.Cabinet, error) {
	if a.intake == nil || !a.intake.Ready() || now.Sub(a.alerts.began) < heardAfter {
		return nil, errUnheard
	}
	all := a.presence.All(now)
	out := make([]alert.Cabinet, len(all))
	for i, c := range all {
		out[i] = alert.Cabinet{ID: c.ID, Gap: c.Gap, Parked: c.Parked, Skewed: c.Skewed}
		switch {
		case c.Health != presence.Offline:
		case c.Seen.IsZero(): // only its last will was heard, here
			out[i].Offline = now.Sub(a.alerts.began)
		default:
			out[i].Offline = c.Age
		}
	}
	return out, nil
}

// registerAlerts exposes the alerts, and what their rules read.
func (a *App) registerAlerts(reg prometheus.Registerer) {
	reg.MustRegister(alertMetrics{a})
	c := a.alerts.carrier
	for outcome, value := range map[string]func() int64{"told": c.Told.Load, "failed": c.Failed.Load, "dead": c.Dead.Load} {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "vendline_notifications_total",
			Help:        "Attempts to tell sinks of alerts that they took, or not; and notifications given up.",
			ConstLabels: prometheus.Labels{"outcome": outcome}}, func() float64 { return float64(value()) }))
	}
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "vendline_provider_calls_made_total", Help: "Calls to payment providers."},
		func() float64 { return float64(a.Payments.Counters.ProviderCalls.Load()) }))
}

// alertMetrics reads the ledger at each scrape. What cannot be read is missing,
// never 0, but for vendline_database_up.
type alertMetrics struct{ a *App }

var (
	descAlerts   = prometheus.NewDesc("vendline_alerts", "Alerts by rule and state; snoozed ones count as snoozed.", []string{"rule", "severity", "state"}, nil)
	descUp       = prometheus.NewDesc("vendline_database_up", "Whether the database answers this process.", nil, nil)
	descPing     = prometheus.NewDesc("vendline_database_ping_seconds", "How long it took to say so.", nil, nil)
	descDepth    = prometheus.NewDesc("vendline_queue_depth", "Stock messages that wait for step 8.", nil, nil)
	descCases    = prometheus.NewDesc("vendline_cases_open", "Open cases by kind.", []string{"kind"}, nil)
	descAged     = prometheus.NewDesc("vendline_cases_open_over_a_day", "Cases that have been open for more than a day.", nil, nil)
	descRecent   = prometheus.NewDesc("vendline_events_recent", "What happened within the last hour: shortage, drift, finding, incident.", []string{"what"}, nil)
	descRedis    = prometheus.NewDesc("vendline_redis_away", "Whether this process does without Redis.", nil, nil)
	descCabinets = prometheus.NewDesc("vendline_cabinets", "Cabinets that are heard of, gap, parked or clock, or offline for ten minutes.", []string{"how"}, nil)
)

// Describe implements prometheus.Collector.
func (m alertMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descAlerts, descUp, descPing, descDepth, descCases, descAged, descRecent, descRedis, descCabinets} {
		ch <- d
	}
}

// scrapePatience is how long a scrape waits for the ledger.
const scrapePatience = 3 * time.Second

// Collect implements prometheus.Collector.
func (m alertMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(m.a.ctx, scrapePatience)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if m.a.Stock != nil {
		away := 0.0
		if m.a.redisAway() != "" {
			away = 1
		}
		gauge(descRedis, away)
	}
	m.cabinets(gauge)
	begin := time.Now() // an interval, not a time of day
	if err := m.a.Ledger.Ping(ctx); err != nil {
		gauge(descUp, 0)
		return
	}
	gauge(descUp, 1)
	gauge(descPing, time.Since(begin).Seconds())
	m.ledger(ctx, gauge)
	m.alerts(ctx, gauge)
}

type setGauge = func(d *prometheus.Desc, v float64, labels ...string)

func (m alertMetrics) cabinets(gauge setGauge) {
	all, err := m.a.alertCabinets(m.a.Deps.Clock())
	if err != nil {
		return
	}
	n := map[string]int{}
	for _, c := range all {
		for how, is := range map[string]bool{"offline": c.Offline >= 10*time.Minute, "gap": c.Gap, "parked": c.Parked > 0, "clock": c.Skewed} {
			if is {
				n[how]++
			}
		}
	}
	gauge(descCabinets, float64(len(all)), "heard")
	for _, how := range []string{"offline", "gap", "parked", "clock"} {
		gauge(descCabinets, float64(n[how]), how)
	}
}

func (m alertMetrics) ledger(ctx context.Context, gauge setGauge) {
	a := m.a
	if a.queue != nil {
		if n, err := a.depth(ctx); err == nil {
			gauge(descDepth, float64(n))
		}
	}
	for _, kind := range []string{"refund_stuck", "payment_mismatch", "payment_unknown", "shortage", "not_dispensed", "line_unknown", "vended_refunded", "slot_fault"} {
		if g, err := a.Ledger.OpenCases(ctx, []string{kind}, 0, 0); err == nil {
			gauge(descCases, float64(g.Count), kind)
		}
	}
	if g, err := a.Ledger.OpenCases(ctx, nil, 24*time.Hour, 0); err == nil {
		gauge(descAged, float64(g.Count))
	}
	since := a.Deps.Clock().Add(-time.Hour)
	for what, read := range map[string]func(context.Context, time.Time, int) (alert.Group, error){
		"shortage": a.Ledger.ShortageFacts, "drift": a.Ledger.DriftFacts, "finding": a.findingGroup, "incident": a.incidentGroup} {
		if g, err := read(ctx, since, 0); err == nil {
			gauge(descRecent, float64(g.Count), what)
		}
	}
}

func (m alertMetrics) alerts(ctx context.Context, gauge setGauge) {
	all, err := m.a.Ledger.Alerts(ctx)
	if err != nil {
		return
	}
	n := map[[3]string]int{}
	for _, r := range m.a.alerts.rules {
		n[[3]string{r.Name, string(r.Severity), string(alert.Firing)}] = 0
	}
	if m.a.alerts.away != nil {
		all = append(all, m.a.alerts.away.Alert())
	}
	for _, one := range all {
		state := string(one.State)
		switch {
		case one.State == alert.Resolved || one.State == "":
			continue
		case one.Active() && one.Snooze != nil:
			state = "snoozed"
		}
		n[[3]string{one.Rule, string(one.Severity), state}]++
	}
	for k, v := range n {
		gauge(descAlerts, float64(v), k[:]...)
	}
}

// fleetAlerts shows alerts to the page; that of the database itself is this
// process's own.
type fleetAlerts struct{ *App }

func (f fleetAlerts) Alerts(ctx context.Context) ([]alert.Alert, error) {
	all, err := f.Ledger.Alerts(ctx)
	if err == nil && f.alerts.away != nil {
		if one := f.alerts.away.Alert(); one.State != "" {
			all = append(all, one)
		}
	}
	return all, err
}

func (f fleetAlerts) AlertEvents(ctx context.Context, n int) ([]alert.Event, error) {
	return f.Ledger.AlertEvents(ctx, n)
}
func (f fleetAlerts) Snoozes(ctx context.Context) ([]alert.Snooze, error) {
	return f.Ledger.Snoozes(ctx)
}
func (f fleetAlerts) Snooze(ctx context.Context, s alert.Snooze) error {
	return f.Ledger.Snooze(ctx, s)
}
func (f fleetAlerts) EndSnooze(ctx context.Context, id, who string) error {
	return f.Ledger.EndSnooze(ctx, id, who)
}
func (f fleetAlerts) Rules() []alert.Rule { return f.alerts.rules }
func (f fleetAlerts) NewID() string       { return f.Deps.ID() }

func (f fleetAlerts) Unknown() map[string]string {
	if f.alerts.evaluator == nil {
		return nil
	}
	return f.alerts.evaluator.Unknown()
}

func (f fleetAlerts) Sinks() []string {
	names := make([]string, len(f.alerts.sinks))
	for i, s := range f.alerts.sinks {
		names[i] = s.Name()
	}
	return names
}

// Test tells a sink that it works. DingTalk hears it within its pace all the same.
func (f fleetAlerts) Test(ctx context.Context, name string) error {
	i := slices.Index(f.Sinks(), name)
	if i < 0 {
		return errors.New("no sink has this name")
	}
	sink, now := f.alerts.sinks[i], f.Deps.Clock()
	if p, ok := sink.(alert.Paced); ok {
		next, err := f.Ledger.Turn(ctx, name, p.Pace())
		if err != nil {
			return err
		}
		if !next.IsZero() {
			return errors.New("it may be spoken to again at " + next.Format(time.TimeOnly) + "; try again then")
		}
	}
	return sink.Send(ctx, []alert.Notification{{ID: f.Deps.ID(), Sink: name, Key: "test", Rule: "test", Severity: alert.Info, State: alert.Resolved, Seq: 1,
		Summary: "This is a test of " + name + ". It works.", Runbook: "Nothing to do.", Since: now, At: now, URL: f.Config.publicURL() + "/alerts"}})[0]
}
