package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"vendline/cloud/alert"
	"vendline/cloud/ledger"
	"vendline/cloud/letter"
	"vendline/cloud/outbox"
)

func alerts() []promise {
	return []promise{
		{"an alert's state, event and notifications are one transaction", alertTransaction},
		{"an alert is not saved twice, nor without the lease", alertOvertaken},
		{"a process that dies before or after an alert's commit repeats and forgets nothing", alertCrashes},
		{"of two processes one evaluates, and the other takes over", alertTwoProcesses},
		{"an alert is snoozed by key or by labels, and that is on record", alertSnoozes},
		{"a sink that is down for an hour gets everything, in order, and delays nobody", alertSinkDown},
		{"a notification that its sink never takes is a dead letter, and can be redriven", alertDead},
		{"a notification is told again after a death before its row goes", alertToldAgain},
		{"a paced sink is spoken to by one process at a time, and so often", alertPace},
		{"shortages, drift and cases are counted for alerts", alertReads},
	}
}

var trouble = alert.Reading{Count: 2, Examples: []string{"C1"}, Summary: "bad"}

// watchman is a process that evaluates one rule.
type watchman struct {
	*alert.Evaluator
	bad bool
}

func (f *Fixture) watchman(name string, l alert.Store) *watchman {
	w := &watchman{}
	w.Evaluator = &alert.Evaluator{
		Store: l, Holder: name, Clock: f.Now, ID: f.ID, Log: slog.New(slog.DiscardHandler), Lease: 20 * time.Second,
		Routes: []alert.Route{{Sink: "a", Least: alert.Info}, {Sink: "b", Least: alert.Info}, {Sink: "quiet", Least: alert.Critical}},
		Rules: []alert.Rule{{Name: "r", Severity: alert.Warning, For: 10 * time.Second, Quiet: 10 * time.Second, Read: func(context.Context, time.Time) ([]alert.Reading, error) {
			if w.bad {
				return []alert.Reading{trouble}, nil
			}
			return nil, nil
		}}},
	}
	return w
}

// look evaluates n times, ten seconds apart.
func (f *Fixture) look(w *watchman, bad bool, n int) {
	f.t.Helper()
	w.bad = bad
	for range n {
		f.ok(w.Evaluate(f.ctx))
		f.Pass(10 * time.Second)
	}
}

// notices are the notifications in the outbox, "sink state", in order.
func (f *Fixture) notices() (out []string) {
	f.t.Helper()
	rows, err := f.AlertRows(f.ctx)
	f.ok(err)
	for _, r := range rows {
		var n alert.Notification
		f.ok(json.Unmarshal(r.Payload, &n))
		out = append(out, n.Sink+" "+string(n.State))
	}
	return out
}

func (f *Fixture) wantNotices(want ...string) {
	f.t.Helper()
	got := f.notices()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		f.t.Errorf("the outbox has %v, want %v", got, want)
	}
}

func alertTransaction(t *testing.T, f *Fixture) {
	w := f.watchman("one", f)
	f.look(w, true, 1)
	f.wantNotices()
	f.look(w, true, 3)
	f.wantNotices("a firing", "b firing")
	f.look(w, false, 4)
	f.wantNotices("a firing", "b firing", "a resolved", "b resolved")
	all, err := f.Alerts(f.ctx)
	f.ok(err)
	if len(all) != 1 || all[0].State != alert.Resolved || all[0].Count != 2 || all[0].Examples[0] != "C1" {
		t.Errorf("there are %+v", all)
	}
	events, err := f.AlertEvents(f.ctx, 10)
	f.ok(err)
	var what []string
	for _, e := range events {
		what = append(what, e.What)
	}
	if fmt.Sprint(what) != "[resolved firing pending]" {
		t.Errorf("its history is %v", what)
	}
	if fed := f.Fed(); len(fed) < 4 {
		t.Errorf("%d rows were fed to their runner", len(fed))
	}
}

func alertOvertaken(t *testing.T, f *Fixture) {
	save := func(holder string, version int64) error {
		return f.SaveAlert(f.ctx, holder, alert.Change{Alert: alert.Alert{Key: "r", Rule: "r", State: alert.Firing, Version: version, Since: f.Now(), SeenAt: f.Now()},
			Notifications: []alert.Notification{{ID: f.ID(), Sink: "a", Key: "r", State: alert.Firing}}})
	}
	if err := save("one", 0); err == nil {
		t.Error("saved without a lease")
	}
	if ok, err := f.HoldAlerts(f.ctx, "one", time.Minute); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := save("two", 0); !errors.Is(err, alert.ErrOvertaken) {
		t.Errorf("saved under another's lease: %v", err)
	}
	f.ok(save("one", 0))
	if err := save("one", 0); !errors.Is(err, alert.ErrOvertaken) {
		t.Errorf("saved twice: %v", err)
	}
	f.ok(save("one", 1))
	if err := save("one", 1); !errors.Is(err, alert.ErrOvertaken) {
		t.Errorf("saved twice: %v", err)
	}
	f.Pass(time.Minute)
	if err := save("one", 2); !errors.Is(err, alert.ErrOvertaken) {
		t.Errorf("saved after the lease's end: %v", err)
	}
	f.wantNotices("a firing", "a firing")
}

// dying is a store whose process dies around a save.
type dying struct {
	alert.Store
	before, after bool
}

var errDied = errors.New("the process died")

func (d *dying) SaveAlert(ctx context.Context, holder string, c alert.Change) error {
	if d.before {
		return errDied
	}
	if err := d.Store.SaveAlert(ctx, holder, c); err != nil {
		return err
	}
	if d.after {
		return errDied
	}
	return nil
}

func alertCrashes(t *testing.T, f *Fixture) {
	d := &dying{Store: f}
	w := f.watchman("one", d)
	f.look(w, true, 1)
	d.before = true
	w.bad = true
	if err := w.Evaluate(f.ctx); !errors.Is(err, errDied) {
		t.Fatalf("it lives: %v", err)
	}
	f.wantNotices()
	f.Pass(25 * time.Second) // the dead one's lease ends
	d2 := &dying{Store: f, after: true}
	w2 := f.watchman("two", d2)
	w2.bad = true
	if err := w2.Evaluate(f.ctx); !errors.Is(err, errDied) {
		t.Fatalf("it lives: %v", err)
	}
	f.wantNotices("a firing", "b firing")
	f.Pass(25 * time.Second)
	w3 := f.watchman("three", f.Open(nil))
	f.look(w3, true, 3)
	f.wantNotices("a firing", "b firing")
	f.look(w3, false, 3)
	f.wantNotices("a firing", "b firing", "a resolved", "b resolved")
}

func alertTwoProcesses(t *testing.T, f *Fixture) {
	one, two := f.watchman("one", f), f.watchman("two", f)
	if f.target.Shared {
		two = f.watchman("two", f.Open(nil))
	}
	one.bad, two.bad = true, true
	for range 6 {
		var both sync.WaitGroup
		for _, w := range []*watchman{one, two} {
			both.Go(func() {
				if err := w.Evaluate(f.ctx); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if one.Holds() == two.Holds() {
			t.Fatalf("one holds the lease: %v, the other: %v", one.Holds(), two.Holds())
		}
		f.Pass(5 * time.Second)
	}
	f.wantNotices("a firing", "b firing")
	lives := one
	if one.Holds() {
		lives = two
	}
	f.Pass(20 * time.Second)
	f.look(lives, true, 1)
	if !lives.Holds() {
		t.Error("nobody takes over from a process that died")
	}
	f.look(lives, false, 4)
	f.wantNotices("a firing", "b firing", "a resolved", "b resolved")
}

func alertSnoozes(t *testing.T, f *Fixture) {
	w := f.watchman("one", f)
	f.ok(f.Snooze(f.ctx, alert.Snooze{ID: f.ID(), Key: "r", Until: f.Now().Add(time.Minute), Reason: "we know", By: "ann", At: f.Now()}))
	f.look(w, true, 4)
	f.wantNotices()
	all, err := f.Alerts(f.ctx)
	f.ok(err)
	if len(all) != 1 || all[0].State != alert.Firing || all[0].Snooze == nil || all[0].Snooze.Reason != "we know" || all[0].Snooze.By != "ann" {
		t.Fatalf("a snoozed alert shows as %+v", all)
	}
	f.ok(f.EndSnooze(f.ctx, "r", "bob"))
	if err := f.EndSnooze(f.ctx, "r", "bob"); !errors.Is(err, alert.ErrNoSnooze) {
		t.Errorf("ended twice: %v", err)
	}
	f.look(w, true, 1)
	f.wantNotices("a firing", "b firing")
	s := alert.Snooze{ID: f.ID(), Rule: "r", Labels: map[string]string{"kind": "stock"}, Until: f.Now().Add(time.Minute), Reason: "x", At: f.Now()}
	f.ok(f.Snooze(f.ctx, s))
	if all, err = f.Alerts(f.ctx); err != nil || all[0].Snooze != nil {
		t.Errorf("snoozed by labels that it does not have: %v", err)
	}
	s.ID, s.Labels = f.ID(), nil
	f.ok(f.Snooze(f.ctx, s))
	if all, err = f.Alerts(f.ctx); err != nil || all[0].Snooze == nil {
		t.Errorf("not snoozed by its rule: %v", err)
	}
	f.Pass(time.Minute)
	if all, err = f.Alerts(f.ctx); err != nil || all[0].Snooze != nil {
		t.Errorf("snoozed after the end: %v", err)
	}
	events, err := f.AlertEvents(f.ctx, 20)
	f.ok(err)
	var who []string
	for _, e := range events {
		if e.What == "snoozed" || e.What == "snooze_ended" {
			who = append(who, e.Key+" "+e.What+" by "+e.Who)
		}
	}
	if want := []string{"r:* snoozed by operator", "r:stock:* snoozed by operator", "r snooze_ended by bob", "r snoozed by ann"}; fmt.Sprint(who) != fmt.Sprint(want) {
		t.Errorf("on record is %v", who)
	}
}

// ear is a sink that may be down.
type ear struct {
	name  string
	mu    sync.Mutex
	down  error
	heard []string
	pace  time.Duration
}

func (e *ear) Name() string { return e.name }

func (e *ear) Send(_ context.Context, batch []alert.Notification) []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down != nil {
		return alert.All(batch, e.down)
	}
	for _, n := range batch {
		e.heard = append(e.heard, n.Key+" "+string(n.State))
	}
	return alert.All(batch, nil)
}

func (e *ear) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.heard)
}

func (e *ear) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = err
}

// slowEar is an ear with a pace.
type slowEar struct{ *ear }

func (e slowEar) Pace() time.Duration { return e.pace }

// post is what carries: claim as a runner does, and carry.
type post struct {
	f *Fixture
	*alert.Carrier
}

func (f *Fixture) post(l alert.Outbox, sinks ...alert.Sink) post {
	p := post{f, &alert.Carrier{Outbox: l, Sinks: sinks, Clock: f.Now, Log: slog.New(slog.DiscardHandler)}}
	ctx, cancel := context.WithCancel(f.ctx)
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx) }()
	f.t.Cleanup(func() { cancel(); <-done })
	return p
}

// carry claims what is due once, and waits until it was dealt with.
func (p post) carry() int {
	p.f.t.Helper()
	s := outbox.ScheduleOf(outbox.KindAlert)
	rows, err := p.f.Claim(p.f.ctx, outbox.KindAlert, 64, func(n int) time.Duration { return min(s.First<<min(n-1, 12), s.Longest) })
	p.f.ok(err)
	p.f.ok(p.Carry(p.f.ctx, rows))
	p.Idle()
	return len(rows)
}

// until carries for a time, a second at a time, or faster where nothing is due.
func (p post) until(d time.Duration) {
	p.f.t.Helper()
	for end := p.f.Now().Add(d); p.f.Now().Before(end); p.f.Pass(15 * time.Second) {
		p.carry()
	}
}

func (f *Fixture) tell(key string, states ...alert.State) {
	f.t.Helper()
	for _, s := range states {
		all, err := f.Alerts(f.ctx)
		f.ok(err)
		var version int64
		if i := slices.IndexFunc(all, func(a alert.Alert) bool { return a.Key == key }); i >= 0 {
			version = all[i].Version
		}
		_, err = f.HoldAlerts(f.ctx, "teller", time.Hour)
		f.ok(err)
		c := alert.Change{Alert: alert.Alert{Key: key, Rule: "r", State: s, Version: version, Since: f.Now(), SeenAt: f.Now()}}
		for _, sink := range []string{"a", "b"} {
			c.Notifications = append(c.Notifications, alert.Notification{ID: f.ID(), Sink: sink, Key: key, Seq: version + 1, State: s, At: f.Now()})
		}
		f.ok(f.SaveAlert(f.ctx, "teller", c))
		f.Pass(time.Second)
	}
}

func alertSinkDown(t *testing.T, f *Fixture) {
	a, b := &ear{name: "a", down: errors.New("refused")}, &ear{name: "b"}
	p := f.post(f, a, b)
	want := []string{"x firing", "x resolved", "x firing", "y firing"}
	f.tell("x", alert.Firing, alert.Resolved)
	p.until(20 * time.Second)
	if got := b.all(); !slices.Equal(got, want[:2]) {
		t.Errorf("the sink that is up heard %v", got)
	}
	f.tell("x", alert.Firing)
	f.tell("y", alert.Firing)
	p.until(time.Hour)
	if got := b.all(); !slices.Equal(got, want) {
		t.Errorf("the sink that is up heard %v", got)
	}
	if got := a.all(); len(got) != 0 {
		t.Fatalf("the sink that is down heard %v", got)
	}
	a.fail(nil)
	p.until(time.Hour + time.Minute)
	if got := a.all(); !slices.Equal(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s[0] == 'y' }), want[:3]) || len(got) != 4 {
		t.Errorf("back after an hour it heard %v", got)
	}
	f.wantNotices()
}

func alertDead(t *testing.T, f *Fixture) {
	a, b := &ear{name: "a", down: errors.New("no such robot")}, &ear{name: "b"}
	p := f.post(f, a, b)
	f.tell("x", alert.Firing)
	attempts := 0
	for range 40 {
		f.Pass(61 * time.Minute)
		attempts += p.carry()
	}
	f.wantNotices()
	if p.Failed.Load() < outbox.MinAttempts || p.Dead.Load() != 1 {
		t.Errorf("given up after %d attempts (%d dead)", p.Failed.Load(), p.Dead.Load())
	}
	page, err := f.FindLetters(f.ctx, letter.Filter{Source: letter.Alert})
	f.ok(err)
	if len(page.Letters) != 1 || page.Letters[0].LastError != "no such robot" {
		t.Fatalf("dead letters: %+v", page.Letters)
	}
	a.fail(nil)
	if _, err := f.Redrive(f.ctx, "ann", page.Letters[0].ID, false); err != nil {
		t.Fatal(err)
	}
	f.Pass(time.Minute)
	p.carry()
	if got := a.all(); !slices.Equal(got, []string{"x firing"}) {
		t.Errorf("redriven, it heard %v", got)
	}
}

// undying is an outbox whose process dies before a row goes.
type undying struct {
	*ledger.Ledger
	dies bool
}

func (u *undying) Delete(ctx context.Context, ids ...string) error {
	if u.dies {
		return errDied
	}
	return u.Ledger.Delete(ctx, ids...)
}

func alertToldAgain(t *testing.T, f *Fixture) {
	a, b := &ear{name: "a"}, &ear{name: "b"}
	u := &undying{Ledger: f.Ledger, dies: true}
	p := f.post(u, a, b)
	f.tell("x", alert.Firing)
	f.Pass(15 * time.Second)
	p.carry()
	f.wantNotices("a firing", "b firing")
	u.dies = false
	p.until(time.Minute)
	f.wantNotices()
	if got := a.all(); !slices.Equal(got, []string{"x firing", "x firing"}) {
		t.Errorf("heard %v: at least once, and again after a death", got)
	}
}

func alertPace(t *testing.T, f *Fixture) {
	a, b := slowEar{&ear{name: "a", pace: 4 * time.Second}}, &ear{name: "b"}
	p := f.post(f, a, b)
	for i := range 40 {
		f.tell(fmt.Sprintf("x%d", i), alert.Firing)
	}
	f.Pass(15 * time.Second)
	turns := 0
	for range 60 {
		before := len(a.all())
		p.carry()
		if len(a.all()) > before {
			turns++
		}
		f.Pass(time.Second)
	}
	if turns > 15 {
		t.Errorf("spoken to %d times a minute", turns)
	}
	if len(a.all()) != 40 || len(b.all()) != 40 {
		t.Errorf("heard %d and %d of 40", len(a.all()), len(b.all()))
	}
}

func alertReads(t *testing.T, f *Fixture) {
	f.exec("INSERT INTO trade_fact (fact_id, cabinet_id, kind, epoch, seq, cause, created_at) VALUES ('f1','C1','DRIFT','',0,'shortage nobody could lose',?), ('f2','C1','DRIFT','',0,'other',?), ('f3','C1','DRIFT','',0,'other',1)",
		f.now.Load(), f.now.Load())
	f.exec("INSERT INTO trade_case (case_id, kind, subject, order_sn, cabinet_id, detail, status, note, created_at, changed_at) VALUES ('c1','refund_stuck','s','o1','','','open','',?,0), ('c2','slot_fault','C1/1','','C1','','open','',1,0), ('c3','slot_fault','C1/2','','C1','','closed','',1,0)", f.now.Load())
	since := f.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		read func() (alert.Group, error)
		want int64
		is   string
	}{
		"shortages": {func() (alert.Group, error) { return f.ShortageFacts(f.ctx, since, 5) }, 1, "C1"},
		"drift":     {func() (alert.Group, error) { return f.DriftFacts(f.ctx, since, 5) }, 1, "C1"},
		"refunds":   {func() (alert.Group, error) { return f.OpenCases(f.ctx, []string{"refund_stuck"}, 0, 5) }, 1, "o1"},
		"old cases": {func() (alert.Group, error) { return f.OpenCases(f.ctx, nil, time.Hour, 5) }, 1, "C1/1"},
	} {
		g, err := c.read()
		f.ok(err)
		if g.Count != c.want || !slices.Equal(g.Examples, []string{c.is}) {
			t.Errorf("%s: %+v", name, g)
		}
	}
	f.exec("DELETE FROM trade_fact")
	f.exec("DELETE FROM trade_case")
}
