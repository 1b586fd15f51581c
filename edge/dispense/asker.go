package dispense

import (
	"context"
	"fmt"
	"sync"
	"time"

	"vendline/shared/wire"
)

// Asker asks the cloud what there is to dispense: on every connection, when the
// cloud says that there is something, and every Timing.Ask besides, since a wake
// can be lost. Safe for concurrent use.
type Asker struct {
	j       *Journal
	cabinet string
	id      func() (string, error)
	jitter  func() float64
	send    func(wire.Ask) bool

	mu    sync.Mutex
	woken bool // there is something to hear, and no answer has come since we heard of it
	tries int  // questions asked since then
	since int64
	now   chan struct{} // one token: ask at once
}

// NewAsker returns an asker for j. send puts a question on the wire, at QoS 0,
// and reports whether there was a connection; id names questions.
func NewAsker(j *Journal, cabinet string, id func() (string, error), jitter func() float64, send func(wire.Ask) bool) *Asker {
	return &Asker{j: j, cabinet: cabinet, id: id, jitter: jitter, send: send, now: make(chan struct{}, 1)}
}

// Connected has it ask at once, on a new connection.
func (a *Asker) Connected() { a.nudge() }

// Woken takes the cloud's word that there is something to dispense.
func (a *Asker) Woken() {
	a.mu.Lock()
	a.woken, a.tries, a.since = true, 0, a.j.asks.asked()
	a.mu.Unlock()
	a.nudge()
}

// Answer takes an answer of the cloud.
func (a *Asker) Answer(ctx context.Context, c wire.Command) error {
	number := a.j.asks.numberOf(c.Ask)
	ours, err := a.j.Answer(ctx, c)
	if ours && err == nil {
		a.mu.Lock()
		if number > a.since { // asked after the wake: this is what it was about
			a.woken = false
		}
		a.mu.Unlock()
	}
	return err
}

func (a *Asker) nudge() {
	select {
	case a.now <- struct{}{}:
	default:
	}
}

// Run asks until ctx ends.
func (a *Asker) Run(ctx context.Context) error {
	for {
		wait := a.wait()
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-a.now:
		case <-timer.C:
		}
		timer.Stop()
		if err := a.Ask(); err != nil {
			return err
		}
	}
}

// wait is how long until the next question. Cabinets that were woken together
// spread out, and one that is not answered asks ever less often.
func (a *Asker) wait() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.j.opt.Timing
	d := t.Ask
	if a.woken && a.tries > 0 {
		d = min(t.Again<<min(a.tries-1, 16), t.Ask)
	}
	return time.Duration(float64(d) * (0.75 + a.jitter()/2))
}

// Ask asks now.
func (a *Asker) Ask() error {
	id, err := a.id()
	if err != nil {
		return fmt.Errorf("dispense: name a question: %w", err)
	}
	a.j.asks.put(id, a.j.opt.Mono()) // before it is sent: what is told counts from here
	a.mu.Lock()
	a.tries++
	a.mu.Unlock()
	if !a.send(wire.Ask{V: wire.Version, Cabinet: a.cabinet, ID: id}) {
		a.j.asks.drop(id) // it never left; the next connection asks
	}
	return nil
}
