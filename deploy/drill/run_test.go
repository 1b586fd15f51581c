package drill

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"
)

// run is the state of one drill.
type run struct {
	site     *Site
	book     *Book
	till     *Till
	load     *Load
	sampler  *Sampler
	began    time.Time
	strikes  []Strike
	struck   []Fault
	samples  int
	oversold map[string]int64
	state    State
	findings []Finding
}

// cycle strikes with every fault in turn while people order, then comes to rest.
func (r *run) cycle(t *testing.T, scope Scope) {
	only, err := regexp.Compile(given.only)
	if err != nil {
		t.Fatalf("-drill.only: %v", err)
	}
	faults := slices.DeleteFunc(Faults(scope), func(f Fault) bool { return !only.MatchString(f.Name) })
	chance := r.site.Plan.Rand(6000)
	r.open()
	if _, err := r.load.Through(t.Context(), r.site); err != nil {
		t.Error(err)
	}
	for i, f := range faults {
		r.struck = append(r.struck, f)
		if f.Forgets && i > 0 && !faults[i-1].Forgets {
			r.till.Rest()
		}
		down := time.Second + time.Duration(chance.Int64N(int64(time.Second)))
		t.Run(f.Name, func(t *testing.T) { r.strike(t, f, down) })
		if given.each && i < len(faults)-1 {
			t.Run("rest after "+f.Name, r.rest)
			r.open()
		}
	}
	t.Run("at rest every promise holds", r.rest)
}

// open lets people order.
func (r *run) open() {
	r.load = StartLoad(r.site.Plan, r.book, r.site.CloudURL(), r.site.AgentURLs(), DefaultRates())
	r.sampler = StartSampler(r.site, r.book)
	r.till.Work(r.site.Plan, r.site.CloudURL(), 5)
}

// strike hurts the site, and waits until orders go the whole path again.
func (r *run) strike(t *testing.T, f Fault, down time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+given.times.Pause)
	defer cancel()
	r.more(ctx, t)
	before, err := r.site.generations(ctx)
	if err != nil {
		t.Error(err)
		return
	}
	r.book.Phase(f.Name)
	began := time.Now()
	patient := func() {}
	if f.Asked {
		patient = r.site.Ask().Stop
	}
	err = f.Strike(ctx, r.site, down)
	patient()
	if err != nil {
		t.Error(err)
		return
	}
	struck := time.Since(began)
	legs, err := r.load.Through(ctx, r.site)
	if err != nil {
		t.Error(err)
		return
	}
	r.strikes = append(r.strikes, Strike{f.Name, time.Since(began)})
	t.Logf("orders go the whole path again %.1f s after the blow; after it was healed at %.1f s: %s", time.Since(began).Seconds(), struck.Seconds(), legs)
	r.more(ctx, t)
	after, err := r.site.generations(ctx)
	if err != nil {
		t.Error(err)
	} else if !f.Forgets && !f.Away && !maps.Equal(before, after) {
		t.Errorf("a cabinet was fenced though Redis forgot nothing: its generations were %v, are %v", before, after)
	}
}

// more lets the load go on a little.
func (r *run) more(ctx context.Context, t *testing.T) {
	t.Helper()
	for until := r.book.Answered() + 100; r.book.Answered() < until; {
		select {
		case <-ctx.Done():
			t.Error("people get no answers any more")
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// rest ends the load and checks everything.
func (r *run) rest(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	r.till.Rest()
	if _, err := r.load.Through(ctx, r.site); err != nil { // the touch that Redis may need
		t.Error(err)
	}
	r.load.Stop(time.Minute)
	back, err := r.site.passTime()
	if err != nil {
		t.Fatal(err)
	}
	quiet := errors.Join(r.site.Quiet(ctx), back())
	if quiet != nil {
		t.Error(quiet)
	}
	samples, oversold := r.sampler.Stop()
	r.samples += samples
	for fault, n := range oversold {
		r.oversold[fault] = max(r.oversold[fault], n)
	}
	events, broken := r.book.Events()
	if r.state, err = r.site.Read(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	r.findings = append(broken, Check(r.site.Plan, events, r.state)...)
	for i, f := range r.findings {
		if i == 20 {
			t.Errorf("… and %d more", len(r.findings)-i)
			break
		}
		t.Error(f)
	}
}

// report prints the summary, and checks that only a Redis that may forget has
// oversold for a moment.
func (r *run) report(t *testing.T) {
	events, _ := r.book.Events()
	repaired := map[string]int64{}
	for _, p := range Repairs(r.state) {
		repaired[r.book.FaultAt(p.At)] += p.Units
	}
	s := Summarize(Result{Plan: r.site.Plan, Events: events, State: r.state, Strikes: r.strikes, Samples: r.samples,
		Oversold: r.oversold, Repaired: repaired, Findings: r.findings})
	s.Seconds = time.Since(r.began).Seconds()
	for _, f := range r.struck {
		if n, m := r.oversold[f.Name], repaired[f.Name]; !f.Forgets && (n > 0 || m > 0) {
			t.Errorf("%s: %d units were oversold, %d were taken back, though Redis forgot nothing", f.Name, n, m)
		}
	}
	for _, n := range r.book.Notes() {
		t.Log(n)
	}
	s.Markdown(os.Stdout)
	if given.out == "" {
		return
	}
	if err := s.Save(given.out); err != nil {
		t.Error(err)
	}
}
