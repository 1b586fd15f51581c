package alert

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Away tells sinks that the store itself is away: nothing durable can be said
// then, so each process says it once for itself, straight to the sinks, and says
// when it is over. A process that dies meanwhile says nothing more; the next
// one begins anew.
type Away struct {
	Ping     func(ctx context.Context) error
	Rule     Rule
	Instance string
	Sinks    []Sink
	Routes   []Route
	Every    time.Duration
	URL      string
	Clock    func() time.Time
	ID       func() string
	Log      *slog.Logger

	mu    sync.Mutex
	alert Alert
	owed  map[string][]Notification // sink → what it was not told yet
}

// Alert is how it stands.
func (a *Away) Alert() Alert {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.alert
}

// Run looks until ctx ends.
func (a *Away) Run(ctx context.Context) {
	every := a.Every
	if every <= 0 {
		every = Every
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			a.Look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// Look looks once, and tells what is owed.
func (a *Away) Look(ctx context.Context) {
	pinging, cancel := context.WithTimeout(ctx, patience)
	err := a.Ping(pinging)
	cancel()
	if ctx.Err() != nil {
		return
	}
	var read *Reading
	if err != nil {
		read = &Reading{Count: 1, Labels: map[string]string{"instance": a.Instance},
			Summary: "The database does not answer " + a.Instance + ": " + err.Error() + ". Nothing can be sold, and no other alert is evaluated."}
	}
	now := a.Clock()
	a.mu.Lock()
	was := a.alert
	was.Key, was.Labels = KeyOf(a.Rule.Name, map[string]string{"instance": a.Instance}), map[string]string{"instance": a.Instance}
	next, n := a.Rule.Step(was, read, now)
	if n != nil || next.State != was.State {
		next.Version++
	}
	a.alert = next
	if a.owed == nil {
		a.owed = map[string][]Notification{}
	}
	if n != nil {
		if next.State == Resolved {
			n.Summary = "The database answers " + a.Instance + " again."
		}
		for _, to := range a.Routes {
			if a.Rule.Severity.Covers(to.Least) {
				one := *n
				one.ID, one.Sink, one.URL = a.ID(), to.Sink, a.URL
				a.owed[to.Sink] = append(a.owed[to.Sink], one)
			}
		}
	}
	a.mu.Unlock()
	a.tell(ctx)
}

// tell tells every sink what it is owed, all at once.
func (a *Away) tell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range a.Sinks {
		a.mu.Lock()
		owed := append([]Notification(nil), a.owed[s.Name()]...)
		a.mu.Unlock()
		if len(owed) == 0 {
			continue
		}
		wg.Go(func() {
			outcomes := s.Send(ctx, owed)
			var left []Notification
			for i, n := range owed {
				if i >= len(outcomes) || outcomes[i] != nil {
					left = append(left, n)
				}
			}
			if len(left) > 0 {
				a.Log.Warn("a sink could not be told that the database is away", "sink", s.Name())
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.owed[s.Name()] = left
		})
	}
	wg.Wait()
}
