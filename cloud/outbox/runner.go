package outbox

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Carrier carries rows out and removes those that are done with. An error says
// that some are not; they are tried again.
type Carrier func(ctx context.Context, rows []Row) error

// Runner carries rows of one kind: at once from memory as commits hand them
// over (Feed), and, when Poll is set, any row whose lease is over.
type Runner struct {
	Kind    Kind
	Store   Store
	Carry   Carrier
	Lease   time.Duration // first lease of a claimed row; doubles with each claim, up to Longest
	Longest time.Duration // longest lease; 0 means Longest
	Workers int           // carriers at once; 0 means 1
	Batch   int           // most rows of one carry; 0 means 64
	Linger  time.Duration // how long the first row waits for company; 0 means not at all
	Poll    time.Duration // how often to look for leftover rows; 0 means never
	Rest    func() bool   // while true rows wait untouched, and no attempt is counted: what they need is known to be away; nil: never
	Log     *slog.Logger

	once sync.Once
	feed chan Row
}

// Longest lease of a row, unless its runner says otherwise.
const Longest = 10 * time.Minute

func (r *Runner) init() {
	r.once.Do(func() {
		if r.Workers <= 0 {
			r.Workers = 1
		}
		if r.Batch <= 0 {
			r.Batch = 64
		}
		r.feed = make(chan Row, 4096)
	})
}

// Feed takes a row that was just committed. It never blocks: a row that finds
// no room stays in the table for the poll.
func (r *Runner) Feed(row Row) {
	r.init()
	select {
	case r.feed <- row:
	default:
	}
}

// Run carries rows until ctx ends. A row under way then is left to its lease.
func (r *Runner) Run(ctx context.Context) {
	r.init()
	var wg sync.WaitGroup
	for range r.Workers {
		wg.Go(func() { r.fromMemory(ctx) })
	}
	if r.Poll > 0 {
		wg.Go(func() { r.fromTable(ctx) })
	}
	wg.Wait()
}

func (r *Runner) fromMemory(ctx context.Context) {
	for {
		rows := make([]Row, 0, 8)
		select {
		case row := <-r.feed:
			rows = append(rows, row)
		case <-ctx.Done():
			return
		}
		if r.Linger > 0 && !sleep(ctx, r.Linger) {
			return
		}
		r.carry(ctx, r.company(rows))
	}
}

// company adds the rows that are there already.
func (r *Runner) company(rows []Row) []Row {
	for len(rows) < r.Batch {
		select {
		case row := <-r.feed:
			rows = append(rows, row)
		default:
			return rows
		}
	}
	return rows
}

// carry tries a few times; then the rows are left to the poll.
func (r *Runner) carry(ctx context.Context, rows []Row) {
	wait := 50 * time.Millisecond
	for try := 1; ; try++ {
		if r.resting() {
			return
		}
		err := r.Carry(ctx, rows)
		if err == nil || ctx.Err() != nil {
			return
		}
		if try == 5 {
			r.Log.Warn("outbox rows left for the poll", "kind", r.Kind, "rows", len(rows), "error", err)
			return
		}
		if !sleep(ctx, wait) {
			return
		}
		wait *= 3
	}
}

func (r *Runner) fromTable(ctx context.Context) {
	for {
		if r.resting() {
			if !sleep(ctx, r.Poll) {
				return
			}
			continue
		}
		rows, err := r.Store.Claim(ctx, r.Kind, r.Batch, r.lease)
		if err == nil && len(rows) > 0 {
			if err = r.Carry(ctx, rows); err != nil {
				r.note(ctx, rows, err)
			}
		}
		if err != nil && ctx.Err() == nil {
			r.Log.Warn("outbox poll failed", "kind", r.Kind, "error", err)
		}
		if err == nil && len(rows) == r.Batch {
			continue
		}
		if !sleep(ctx, r.Poll) {
			return
		}
	}
}

func (r *Runner) resting() bool { return r.Rest != nil && r.Rest() }

// note keeps why rows were not carried out, for whoever looks at what is stuck.
// One that is lost is a line less to read.
func (r *Runner) note(ctx context.Context, rows []Row, why error) {
	n, ok := r.Store.(Noter)
	if !ok || ctx.Err() != nil {
		return
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	if err := n.Note(ctx, why.Error(), ids...); err != nil {
		r.Log.Debug("the error of outbox rows is not noted", "kind", r.Kind, "error", err)
	}
}

func (r *Runner) lease(attempts int) time.Duration {
	longest := r.Longest
	if longest <= 0 {
		longest = Longest
	}
	return min(r.Lease<<min(max(attempts-1, 0), 12), longest)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
