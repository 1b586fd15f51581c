package alert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"vendline/cloud/outbox"
)

// Sink is where notifications are told.
type Sink interface {
	Name() string
	// Send tells notifications, oldest first, and says of each what came of it: nil
	// is told for sure, ErrBehind that one of the same alert before it was not.
	Send(ctx context.Context, batch []Notification) []error
}

// ErrBehind says that a notification was not tried, because of one before it.
var ErrBehind = errors.New("alert: an earlier notification of the alert is not told yet")

// All is the same outcome for a whole batch.
func All(batch []Notification, err error) []error {
	out := make([]error, len(batch))
	for i := range out {
		out[i] = err
	}
	return out
}

// Paced is a sink that may be spoken to only so often, by all processes together.
type Paced interface{ Pace() time.Duration }

// Limits of a Carrier.
const (
	SendPatience = 8 * time.Second // with one Send
	mostAtOnce   = 100             // notifications of one Send
	behindWait   = 5 * time.Second
)

// Outbox is what a Carrier needs of the ledger.
type Outbox interface {
	// AlertRows returns all outbox rows of the kind, whoever has claimed them.
	AlertRows(ctx context.Context) ([]outbox.Row, error)
	Delete(ctx context.Context, ids ...string) error
	// Wait makes rows claimable at a time, and does not count it as an attempt.
	WaitAlerts(ctx context.Context, until time.Time, ids ...string) error
	// Turn is when a sink may be spoken to: the zero time is now, and then the next
	// turn is every later.
	Turn(ctx context.Context, sink string, every time.Duration) (time.Time, error)
	Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
	Note(ctx context.Context, why string, ids ...string) error
}

// Carrier carries notifications to sinks. Each sink has a worker of its own, so
// that one that is down, or hangs, delays itself and nobody else.
//
// Promise: at least once, and per alert in the order in which they were decided.
// Dies after the sink took it and before the row is removed: it is told again,
// under the same id. A row that fails 16 times is a dead letter. When a sink
// answers again, all that waits for it is let go at once.
type Carrier struct {
	Outbox Outbox
	Sinks  []Sink
	Clock  func() time.Time
	Log    *slog.Logger

	Told, Failed, Dead atomic.Int64

	once    sync.Once
	workers map[string]*worker
}

type worker struct {
	sink Sink
	kick chan struct{}
	mu   sync.Mutex
	rows map[string]outbox.Row // to be carried

	busy sync.Mutex // held while some are
}

func (c *Carrier) init() {
	c.once.Do(func() {
		c.workers = make(map[string]*worker, len(c.Sinks))
		for _, s := range c.Sinks {
			c.workers[s.Name()] = &worker{sink: s, kick: make(chan struct{}, 1), rows: map[string]outbox.Row{}}
		}
	})
}

// Carry hands rows to their sinks' workers. They stay claimed meanwhile.
func (c *Carrier) Carry(ctx context.Context, rows []outbox.Row) error {
	c.init()
	var failed error
	for _, row := range rows {
		var n Notification
		if err := json.Unmarshal(row.Payload, &n); err != nil || n.Sink == "" {
			if err = c.bury(ctx, row, n, cmp.Or(err, errors.New("it names no sink"))); err != nil {
				failed = err
			}
			continue
		}
		w := c.workers[n.Sink]
		if w == nil {
			if err := c.failed(ctx, n.Sink, []item{{row, n}}, fmt.Errorf("there is no sink %q in --alerts any more", n.Sink)); err != nil {
				failed = err
			}
			continue
		}
		w.mu.Lock()
		w.rows[row.ID] = row
		w.mu.Unlock()
		select {
		case w.kick <- struct{}{}:
		default:
		}
	}
	return failed
}

// Run carries until ctx ends.
func (c *Carrier) Run(ctx context.Context) {
	c.init()
	var wg sync.WaitGroup
	for _, w := range c.workers {
		wg.Go(func() {
			for {
				select {
				case <-w.kick:
				case <-ctx.Done():
					return
				}
				if err := c.work(ctx, w); err != nil && ctx.Err() == nil {
					c.Log.Warn("notifications are left to their lease", "sink", w.sink.Name(), "error", err)
				}
			}
		})
	}
	wg.Wait()
}

// work carries what one sink's worker was handed.
func (c *Carrier) work(ctx context.Context, w *worker) error {
	w.busy.Lock()
	defer w.busy.Unlock()
	w.mu.Lock()
	mine := w.rows
	w.rows = map[string]outbox.Row{}
	w.mu.Unlock()
	now := c.Clock()
	for id, row := range mine {
		if !row.DueAt.IsZero() && now.After(row.DueAt) {
			delete(mine, id) // its lease is over: somebody else's by now
		}
	}
	if len(mine) == 0 {
		return nil
	}
	all, err := c.waiting(ctx, w.sink.Name())
	if err != nil {
		return err
	}
	batch, behind := ready(all, mine)
	if len(behind) > 0 {
		// Told when what comes before it is; until then it costs no attempt.
		if err := c.Outbox.WaitAlerts(ctx, now.Add(behindWait), behind...); err != nil {
			return err
		}
	}
	if len(batch) == 0 {
		return nil
	}
	if p, ok := w.sink.(Paced); ok {
		next, err := c.Outbox.Turn(ctx, w.sink.Name(), p.Pace())
		if err != nil {
			return err
		}
		if !next.IsZero() {
			return c.Outbox.WaitAlerts(ctx, next, idsOf(batch)...)
		}
	}
	return c.send(ctx, w.sink, batch, all)
}

// Idle waits until everything that was handed over is dealt with: told, or left
// to its lease.
func (c *Carrier) Idle() {
	c.init()
	for _, w := range c.workers {
		for {
			w.busy.Lock()
			w.mu.Lock()
			n := len(w.rows)
			w.mu.Unlock()
			w.busy.Unlock()
			if n == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// item is a row with what it says.
type item struct {
	row outbox.Row
	n   Notification
}

func idsOf(items []item) []string {
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.row.ID
	}
	return ids
}

// waiting are all rows of a sink, in order.
func (c *Carrier) waiting(ctx context.Context, sink string) ([]item, error) {
	rows, err := c.Outbox.AlertRows(ctx)
	if err != nil {
		return nil, err
	}
	var out []item
	for _, row := range rows {
		var n Notification
		if json.Unmarshal(row.Payload, &n) == nil && n.Sink == sink {
			out = append(out, item{row, n})
		}
	}
	slices.SortFunc(out, func(a, b item) int {
		return cmp.Or(a.n.At.Compare(b.n.At), cmp.Compare(a.n.Seq, b.n.Seq), cmp.Compare(a.row.ID, b.row.ID))
	})
	return out, nil
}

// ready are the rows of mine that nothing of the same alert is before; behind
// are the others.
func ready(all []item, mine map[string]outbox.Row) (batch []item, behind []string) {
	blocked := map[string]bool{}
	for _, it := range all {
		row, ok := mine[it.row.ID]
		switch {
		case !ok || len(batch) == mostAtOnce:
			blocked[it.n.Key] = true
			if ok {
				behind = append(behind, it.row.ID)
			}
		case blocked[it.n.Key]:
			behind = append(behind, it.row.ID)
		default:
			batch = append(batch, item{row, it.n})
		}
	}
	return batch, behind
}

func (c *Carrier) send(ctx context.Context, s Sink, batch, all []item) error {
	tell := make([]Notification, len(batch))
	for i, it := range batch {
		tell[i] = it.n
	}
	sending, cancel := context.WithTimeout(ctx, SendPatience)
	defer cancel()
	outcomes := s.Send(sending, tell)
	if len(outcomes) != len(batch) {
		outcomes = All(tell, errors.New("the sink did not say what came of each"))
	}
	var told, behind []string
	var bad []item
	var cause error
	for i, it := range batch {
		switch err := outcomes[i]; {
		case err == nil:
			told = append(told, it.row.ID)
		case errors.Is(err, ErrBehind):
			behind = append(behind, it.row.ID)
		default:
			bad, cause = append(bad, it), cmp.Or(cause, err)
		}
	}
	if ctx.Err() != nil && len(told) == 0 {
		return ctx.Err() // we are stopping: not the sink's fault
	}
	if len(told) > 0 {
		c.Told.Add(int64(len(told)))
		if err := c.Outbox.Delete(ctx, told...); err != nil {
			return err
		}
	}
	if len(behind) > 0 {
		if err := c.Outbox.WaitAlerts(ctx, c.Clock().Add(behindWait), behind...); err != nil {
			return err
		}
	}
	if len(bad) == 0 {
		return c.release(ctx, batch, all)
	}
	return c.failed(ctx, s.Name(), bad, cause)
}

// release lets everything else go that waits for a sink that answers again.
func (c *Carrier) release(ctx context.Context, batch, all []item) error {
	var ids []string
	now := c.Clock()
	for _, it := range all {
		if it.row.Attempts > 0 && it.row.DueAt.After(now) && !slices.ContainsFunc(batch, func(b item) bool { return b.row.ID == it.row.ID }) {
			ids = append(ids, it.row.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return c.Outbox.WaitAlerts(ctx, now, ids...)
}

// failed leaves rows to their lease, which grows, or gives them up.
func (c *Carrier) failed(ctx context.Context, sink string, bad []item, cause error) error {
	c.Failed.Add(int64(len(bad)))
	c.Log.Warn("a sink did not take notifications", "sink", sink, "notifications", len(bad), "error", cause)
	var failed error
	var left []string
	for _, it := range bad {
		if it.row.Attempts < outbox.MinAttempts { // one more from memory, if its process lived, is not counted in the row
			left = append(left, it.row.ID)
		} else if err := c.bury(ctx, it.row, it.n, cause); err != nil {
			failed = err
		}
	}
	if len(left) > 0 {
		if err := c.Outbox.Note(ctx, cause.Error(), left...); err != nil {
			failed = err
		}
	}
	return failed
}

func (c *Carrier) bury(ctx context.Context, row outbox.Row, n Notification, cause error) error {
	c.Dead.Add(1)
	meta := map[string]string{"row": row.ID, "sink": n.Sink, "alert": n.Key, "attempts": strconv.Itoa(row.Attempts + 1)}
	return c.Outbox.Bury(ctx, Source, cause.Error(), row.Payload, meta)
}

// Source is what dead letters of notifications say they come from.
const Source = "alert"
