package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"vendline/cloud/effect"
	"vendline/cloud/order"
	"vendline/cloud/orphan"
	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

// SettleOrphan decides, in MySQL and first, about an id that Redis still counts
// as deducted though no placement of it can be alive any more.
//
//   - No order: it is inserted as ROLLBACKED, so that the late insert fails.
//   - A retry that died: the order's version is raised, so that the late
//     transition fails.
//   - An order of another cabinet under this id: only the hold is given back.
//   - An order that waits to be placed: its outbox row goes on with the hold, or
//     refuses the order.
//   - An order that was refused to be placed: the hold is given back.
//   - An order that stands at this version: nothing to do.
//
// The release reaches Redis through the outbox. order.ErrStale and ErrDoubled
// mean that Redis itself is in doubt.
func (l *Ledger) SettleOrphan(ctx context.Context, h orphan.Hold) (outcome orphan.Outcome, err error) {
	var rows []outbox.Row
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		rows, outcome = nil, orphan.Settled
		current, err := l.generations(ctx, tx, map[string]struct{}{h.Cabinet: {}}, l.dialect.shareFree)
		if err != nil {
			return err
		}
		if current[h.Cabinet] != h.Run.Generation {
			return order.ErrStale
		}
		found, err := orders(ctx, tx, selectOrder+" WHERE order_sn = ?"+l.dialect.forUpdate, h.ID)
		if err != nil {
			return err
		}
		b := l.newRows(l.now())
		switch {
		case len(found) == 0:
			err = l.insertOrphan(ctx, tx, b, h)
		case found[0].Cabinet != h.Cabinet:
			err = l.spend(ctx, tx, h)
			b.effect(effect.Effect{Release: releaseHold(h, h.Version+1)})
		case found[0].Pending():
			outcome = orphan.Standing
			return nil
		case found[0].Refused():
			err = l.spend(ctx, tx, h)
			b.effect(effect.Effect{Release: releaseHold(h, max(h.Version+1, found[0].Version))})
		case h.Version > found[0].Version && found[0].Status == order.RolledBack:
			err = l.outrun(ctx, tx, b, found[0].Order, h)
		default:
			outcome, err = l.standing(ctx, tx, found[0].Order)
			return err
		}
		if err != nil {
			return err
		}
		rows = b.rows()
		return l.insertMsgs(ctx, tx, rows)
	})
	if errors.Is(err, errLate) {
		return orphan.Standing, nil
	}
	if err != nil {
		return orphan.Standing, fmt.Errorf("ledger: settle orphan %s: %w", h.ID, err)
	}
	if outcome == orphan.Settled {
		l.counters.OrphansClosed.Add(1)
	}
	l.opt.Feed(rows)
	return outcome, nil
}

// errLate says that the late insert committed first: its order stands.
var errLate = errors.New("ledger: the placement was alive after all")

func (l *Ledger) insertOrphan(ctx context.Context, tx *sql.Tx, b *rowSet, h orphan.Hold) error {
	if err := l.spend(ctx, tx, h); err != nil {
		return err
	}
	o := order.Order{
		ID: h.ID, Cabinet: h.Cabinet, User: h.User, Status: order.RolledBack, Version: h.Version + 1, Currency: "XXX", Orphan: true,
		CreatedAt: ms(h.At), ExpiresAt: ms(h.At),
	}
	for _, w := range h.Lines {
		o.Lines = append(o.Lines, order.Line{SKU: w.SKU, Qty: w.Qty})
	}
	err := insertRows(ctx, tx, insertOrder, orderCols, appendOrder(nil, o, b.now, "placement died"), "")
	if duplicate(err) {
		return errLate
	}
	if err != nil {
		return fmt.Errorf("insert orphan: %w", err)
	}
	if err := insertRows(ctx, tx, insertLine, lineCols, appendLines(nil, o), ""); err != nil {
		return fmt.Errorf("insert orphan lines: %w", err)
	}
	l.tell(b, o)
	return nil
}

// outrun raises a rolled-back order's version past a retry that died.
func (l *Ledger) outrun(ctx context.Context, tx *sql.Tx, b *rowSet, o order.Order, h orphan.Hold) error {
	if err := l.spend(ctx, tx, h); err != nil {
		return err
	}
	was := o.Version
	o.Version = h.Version + 1
	_, err := tx.ExecContext(ctx, "UPDATE trade_order SET version = ?, cause = ?, changed_at = ? WHERE order_sn = ? AND version = ?", o.Version, "retry died", b.now, o.ID, was)
	if err != nil {
		return fmt.Errorf("raise version: %w", err)
	}
	l.tell(b, o)
	return nil
}

// spend records the hold's ticket as the orphan's, so that whoever drew it too
// is caught. Markers that a rebuild loaded drew none.
func (l *Ledger) spend(ctx context.Context, tx *sql.Tx, h orphan.Hold) error {
	return insertTickets(ctx, tx, appendTicket(nil, h.Cabinet, h.Run, orphanOwner(h.ID)))
}

// orphanOwner owns the ticket of a hold that the sweep gave back.
func orphanOwner(id string) string { return id + "#orphan" }

func releaseHold(h orphan.Hold, version int64) *effect.Release {
	return &effect.Release{ID: h.ID, Cabinet: h.Cabinet, User: h.User, Version: version, Lines: append([]wire.Line(nil), h.Lines...)}
}

// standing tells whether the deduct log knows all lines of o at its version.
func (l *Ledger) standing(ctx context.Context, tx *sql.Tx, o order.Order) (orphan.Outcome, error) {
	var v sql.NullInt64
	err := tx.QueryRowContext(ctx, `SELECT MIN(COALESCE(g.version, 0)) FROM trade_order_line l
		LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.order_sn AND g.sku_id = l.sku_id WHERE l.order_sn = ?`, o.ID).Scan(&v)
	if err != nil {
		return orphan.Standing, fmt.Errorf("read deduct log: %w", err)
	}
	if v.Int64 >= o.Version {
		return orphan.Known, nil
	}
	return orphan.Standing, nil
}
