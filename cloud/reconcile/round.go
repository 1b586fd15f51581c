package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Reconciler goes through cabinets.
type Reconciler struct {
	Stock    Stock
	Ledger   Ledger
	Rebuild  func(ctx context.Context, cabinet string) error
	ID       func() string
	Token    func() string
	Clock    func() time.Time
	Log      *slog.Logger
	Chunk    int // cabinets compared at one instant; 0 means 64
	Parallel int // chunks at once; 0 means 2
	Tries    int // looks at a cabinet that moves before it is frozen; 0 means 2, below 0 none
	// Rest is how long a worker rests after a chunk, as a multiple of the time the
	// chunk took; below 0 not at all, 0 means 1.
	Rest float64

	Counters Counters
}

// Outcome of one cabinet.
type Outcome struct {
	Cabinet string
	Result  Result
	Finding *Finding // with Differs
	Err     error    // with Failed
}

// Result says how a comparison ended.
type Result string

// Results.
const (
	Equal     Result = "equal"
	Differs   Result = "differs"    // see Finding
	NotLoaded Result = "not_loaded" // Redis has nothing that could be wrong
	Stale     Result = "stale"      // Redis is of another generation, and will be rebuilt
	Failed    Result = "failed"
)

// Report is what a round found.
type Report struct {
	Cabinets, Equal, NotLoaded, Stale, Failed, Frozen int
	Findings, Repaired                                int
	Units                                             int64 // sum of all differences, without sign
	Took                                              time.Duration
}

// Round compares cabinets and, unless dry, repairs them. each is told of every
// cabinet as it is done, one at a time; it may be nil. A cabinet that fails
// keeps none of the others; the error is of what stops all.
func (r *Reconciler) Round(ctx context.Context, cabinets []string, dry bool, each func(Outcome)) (Report, error) {
	began := r.Clock()
	rep := Report{Cabinets: len(cabinets)}
	var mu sync.Mutex
	done := func(o Outcome, frozen bool) {
		mu.Lock()
		defer mu.Unlock()
		rep.count(o, frozen)
		r.Counters.count(o)
		if each != nil {
			each(o)
		}
	}
	chunks := make(chan []string)
	var workers sync.WaitGroup
	for range or(r.Parallel, 2) {
		workers.Go(func() {
			for some := range chunks {
				at := time.Now()
				r.chunk(ctx, some, dry, done)
				r.rest(ctx, time.Since(at))
			}
		})
	}
	size := or(r.Chunk, 64)
	for from := 0; from < len(cabinets) && ctx.Err() == nil; from += size {
		select {
		case chunks <- cabinets[from:min(from+size, len(cabinets))]:
		case <-ctx.Done():
		}
	}
	close(chunks)
	workers.Wait()
	rep.Took = r.Clock().Sub(began)
	return rep, ctx.Err()
}

func or(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

func (r *Reconciler) rest(ctx context.Context, worked time.Duration) {
	factor := r.Rest
	if factor == 0 {
		factor = 1
	}
	if factor < 0 {
		return
	}
	select {
	case <-time.After(time.Duration(factor * float64(worked))):
	case <-ctx.Done():
	}
}

// chunk compares cabinets at one instant, those that moved again, and freezes
// what still moves.
func (r *Reconciler) chunk(ctx context.Context, cabinets []string, dry bool, done func(Outcome, bool)) {
	tries := r.Tries
	if tries == 0 {
		tries = 2
	}
	for range max(0, tries) {
		moved, err := r.look(ctx, cabinets, dry, func(o Outcome) { done(o, false) })
		if err != nil {
			for _, c := range moved {
				done(Outcome{Cabinet: c, Result: Failed, Err: err}, false)
			}
			return
		}
		if cabinets = moved; len(cabinets) == 0 {
			return
		}
	}
	for _, c := range cabinets {
		done(r.frozen(ctx, c, dry), true)
	}
}

// look compares cabinets that stood still and returns those that did not; with
// an error, those that were not looked at.
func (r *Reconciler) look(ctx context.Context, cabinets []string, dry bool, done func(Outcome)) (moved []string, err error) {
	views, err := r.Stock.Views(ctx, cabinets)
	if err != nil {
		return cabinets, err
	}
	ids := make(map[string][]string, len(views))
	var loaded []string
	for _, c := range cabinets {
		v, ok := views[c]
		if !ok {
			done(Outcome{Cabinet: c, Result: NotLoaded})
			continue
		}
		loaded = append(loaded, c)
		ids[c] = v.Reserved
	}
	if len(loaded) == 0 {
		return nil, nil
	}
	books, err := r.Ledger.Books(ctx, ids)
	if err != nil {
		return loaded, err
	}
	for _, c := range loaded {
		ids[c] = ask(views[c], books[c])
	}
	marks, err := r.Stock.MarksOf(ctx, ids)
	if err != nil {
		return loaded, err
	}
	for _, c := range loaded {
		v, b := views[c], books[c]
		m, ok := marks[c]
		switch {
		case b.Generation != v.Generation:
			done(Outcome{Cabinet: c, Result: Stale})
		case !ok || m.Generation != v.Generation || m.Mutations != v.Mutations:
			moved = append(moved, c)
		default:
			o, fix := r.judge(ctx, c, v, b, m.ByID, dry)
			if fix != nil {
				o = r.mended(ctx, o, r.Stock.Mend(ctx, *fix))
			}
			if o.Result == Differs && o.Finding.State == Overtaken {
				moved = append(moved, c)
				continue
			}
			done(o)
		}
	}
	return moved, nil
}

// judge compares one cabinet, and writes down what differs and what repairs it.
//
// The finding is durable before the repair. Dies before it: the finding stays
// open, and the next look finds the same difference under an id of its own. Dies
// after the repair: the next look finds none, and closes the finding by the
// marker that the repair left. Nothing is ever added twice: the repair compares
// with the very instant the finding was made at.
func (r *Reconciler) judge(ctx context.Context, cabinet string, v View, b Books, marks map[string]Mark, dry bool) (Outcome, *Repair) {
	for id := range b.Open { // of earlier looks: tell what became of them
		s := Overtaken
		if marks[id].Done {
			s = Repaired
		}
		if err := r.Ledger.MarkFinding(ctx, id, s); err != nil {
			return Outcome{Cabinet: cabinet, Result: Failed, Err: fmt.Errorf("close finding %s: %w", id, err)}, nil
		}
	}
	f := r.finding(cabinet, v, b, marks, dry)
	if f == nil {
		return Outcome{Cabinet: cabinet, Result: Equal}, nil
	}
	if err := r.Ledger.NoteFinding(ctx, *f); err != nil {
		return Outcome{Cabinet: cabinet, Result: Failed, Err: fmt.Errorf("write a finding down: %w", err)}, nil
	}
	out := Outcome{Cabinet: cabinet, Result: Differs, Finding: f}
	if dry {
		return out, nil
	}
	fix := &Repair{ID: f.ID, Cabinet: cabinet, Generation: v.Generation, Mutations: v.Mutations}
	for _, d := range f.Lines {
		fix.Deltas = append(fix.Deltas, Units{SKU: d.SKU, Units: d.Expected - d.Found})
	}
	return out, fix
}

// finding is what differs at a cabinet, nil if nothing does.
func (r *Reconciler) finding(cabinet string, v View, b Books, marks map[string]Mark, dry bool) *Finding {
	diff := compare(v, b, marks)
	if len(diff) == 0 {
		return nil
	}
	f := &Finding{ID: r.ID(), Cabinet: cabinet, State: Open, Lines: diff, At: r.Clock()}
	if dry {
		f.State = DryRun
	}
	r.Log.Warn("Redis differs from the ledger", "cabinet", cabinet, "finding", f.ID, "differences", diff, "dry_run", dry)
	return f
}

// mended says what became of a finding whose repair returned err.
func (r *Reconciler) mended(ctx context.Context, o Outcome, err error) Outcome {
	o.Finding.State = Repaired
	if errors.Is(err, ErrMoved) {
		o.Finding.State = Overtaken
	} else if err != nil {
		return Outcome{Cabinet: o.Cabinet, Result: Failed, Err: err} // open: the next look tells
	}
	if err := r.Ledger.MarkFinding(ctx, o.Finding.ID, o.Finding.State); err != nil {
		r.Log.Warn("a finding is still open; the next look closes it", "finding", o.Finding.ID, "error", err)
	}
	return o
}
