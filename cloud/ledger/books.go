package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"vendline/cloud/effect"
	"vendline/cloud/reconcile"
)

// Books reads the ledger's side of many cabinets, all of one instant; see
// reconcile.Books. ids are orders to look up, by cabinet.
func (l *Ledger) Books(ctx context.Context, ids map[string][]string) (out map[string]reconcile.Books, err error) {
	err = l.inTx(ctx, l.dialect.snapshot, func(tx *sql.Tx) error {
		out, err = l.books(ctx, tx, ids)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: read books: %w", err)
	}
	return out, nil
}

// Locked implements reconcile.Ledger. The snapshot opens with the first read of
// the desk, after the lock.
func (l *Ledger) Locked(ctx context.Context, cabinet string, work func(context.Context, reconcile.Desk) error) error {
	return l.once(ctx, l.dialect.snapshot, func(tx *sql.Tx) error {
		if _, _, err := l.lockCabinet(ctx, tx, cabinet); err != nil {
			return err
		}
		return work(ctx, desk{l, tx, cabinet})
	})
}

// desk is a cabinet under its lock.
type desk struct {
	l       *Ledger
	tx      *sql.Tx
	cabinet string
}

func (d desk) Books(ctx context.Context, ids []string) (reconcile.Books, error) {
	all, err := d.l.books(ctx, d.tx, map[string][]string{d.cabinet: ids})
	return all[d.cabinet], err
}

func (d desk) Note(ctx context.Context, f reconcile.Finding) error {
	return d.l.noteFinding(ctx, d.tx, f)
}

func (l *Ledger) books(ctx context.Context, tx *sql.Tx, ids map[string][]string) (map[string]reconcile.Books, error) {
	cabinets := sortedKeys(ids)
	out := make(map[string]reconcile.Books, len(cabinets))
	if len(cabinets) == 0 {
		return out, nil
	}
	asked := map[string]struct{}{}
	for _, c := range cabinets {
		asked[c] = struct{}{}
	}
	gens, err := l.generations(ctx, tx, asked, "")
	if err != nil {
		return nil, err
	}
	stock, err := l.sellableOf(ctx, tx, cabinets)
	if err != nil {
		return nil, err
	}
	for _, c := range cabinets {
		out[c] = reconcile.Books{Generation: gens[c], Sellable: stock[c], Orders: map[string]reconcile.Order{}, Releases: map[string]bool{}, Adjusts: map[string][]reconcile.Units{}, Open: map[string]time.Time{}}
	}
	err = l.pendingEffects(ctx, tx, cabinets, func(e effect.Effect) {
		b, ok := out[e.Cabinet()]
		switch {
		case !ok:
		case e.Release != nil:
			b.Releases[e.Release.ID] = true
		default:
			b.Adjusts[e.Adjust.ID] = e.Adjust.Deltas
		}
	})
	if err != nil {
		return nil, err
	}
	if err := openFindings(ctx, tx, cabinets, out); err != nil {
		return nil, err
	}
	var wanted []string
	for c, some := range ids {
		wanted = append(wanted, some...)
		wanted = slices.AppendSeq(wanted, maps.Keys(out[c].Releases))
	}
	for some := range slices.Chunk(wanted, 500) {
		found, err := orders(ctx, tx, selectOrder+" WHERE order_sn IN ("+marks(len(some))+")", anys(some)...)
		if err != nil {
			return nil, fmt.Errorf("read orders: %w", err)
		}
		for _, o := range found {
			if b, ok := out[o.Cabinet]; ok {
				b.Orders[o.ID] = reconcile.Order{Version: o.Version, InForce: o.Status.InForce(), Lines: wireLines(o.Lines)}
			}
		}
	}
	return out, nil
}
