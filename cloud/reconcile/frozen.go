package reconcile

import (
	"context"
	"fmt"
)

// Desk is the ledger's side of one cabinet under its exclusive lock.
type Desk interface {
	// Books reads at one instant after the lock.
	Books(ctx context.Context, ids []string) (Books, error)
	// Note writes a finding down, durable when the lock ends.
	Note(ctx context.Context, f Finding) error
}

// frozen compares a cabinet that never stands still. Under its row's lock no
// placement counts and no effect is finished; whoever finds Redis frozen waits
// for the lock before he rebuilds, and then finds it thawed. So orders wait for
// some milliseconds, and none is refused.
//
// A cabinet that differs is not thawed but rebuilt, which is exact. Dies while it
// is frozen: the lock goes with the connection, and the next touch rebuilds what
// is still frozen, whether the finding was committed or not.
func (r *Reconciler) frozen(ctx context.Context, cabinet string, dry bool) (o Outcome) {
	err := r.Ledger.Locked(ctx, cabinet, func(ctx context.Context, desk Desk) error {
		token := r.Token()
		v, ok, err := r.Stock.Freeze(ctx, cabinet, token)
		if err != nil {
			return err
		}
		if !ok {
			o = Outcome{Cabinet: cabinet, Result: NotLoaded}
			return nil
		}
		if o, err = r.still(ctx, cabinet, v, dry, desk); err == nil && o.Result == Differs && !dry {
			return nil
		}
		if thawed := r.Stock.Thaw(ctx, cabinet, token); err == nil {
			err = thawed
		}
		return err
	})
	if err == nil && o.Result == Differs && !dry {
		err = r.Rebuild(ctx, cabinet)
	}
	if err != nil {
		return Outcome{Cabinet: cabinet, Result: Failed, Err: fmt.Errorf("compare frozen: %w", err)}
	}
	return o
}

func (r *Reconciler) still(ctx context.Context, cabinet string, v View, dry bool, desk Desk) (Outcome, error) {
	b, err := desk.Books(ctx, v.Reserved)
	if err != nil {
		return Outcome{}, err
	}
	if b.Generation != v.Generation {
		return Outcome{Cabinet: cabinet, Result: Stale}, nil
	}
	marks, err := r.Stock.MarksOf(ctx, map[string][]string{cabinet: ask(v, b)})
	if err != nil {
		return Outcome{}, err
	}
	m, ok := marks[cabinet]
	if !ok {
		return Outcome{}, ErrMoved
	}
	f := r.finding(cabinet, v, b, m.ByID, dry)
	if f == nil {
		return Outcome{Cabinet: cabinet, Result: Equal}, nil
	}
	if !dry {
		f.State = Repaired // only a rebuild ends the freeze
	}
	return Outcome{Cabinet: cabinet, Result: Differs, Finding: f}, desk.Note(ctx, *f)
}
