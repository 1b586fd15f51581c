package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// Leases: how long a row written by a living process is left to that process.
const (
	StockLease = 20 * time.Second // stock rows stay until applied; then they are sent again
	QuickLease = 5 * time.Second  // rows that go as soon as they are carried out
)

// Place commits an order with everyone who comes at the same time.
//
// Promise: when it returns nil, the order, its lines, its ticket and its outbox
// rows are durable, all or none. Dies before the commit: nothing is here, the
// hold in Redis is an orphan until the caller comes again under the same id or
// the sweep settles it. Dies after: the order stands, the caller asks again and
// hears so; the rows are relayed by whoever claims them.
func (l *Ledger) Place(ctx context.Context, p *order.Placement) error {
	return l.placing.Do(ctx, p)
}

// placeGroup commits a group; one that cannot commit costs itself only.
func (l *Ledger) placeGroup(ctx context.Context, ps []*order.Placement) []error {
	errs := make([]error, len(ps))
	l.placeSplit(ctx, ps, errs)
	return errs
}

func (l *Ledger) placeSplit(ctx context.Context, ps []*order.Placement, errs []error) {
	rows, err := l.placeTx(ctx, ps, errs)
	switch {
	case err == nil:
		l.opt.Feed(rows)
		l.announcePlaced(ps, errs)
	case len(ps) == 1 || transient(err) || ctx.Err() != nil:
		for i := range errs {
			errs[i] = err
		}
	default: // somebody here is bad: halve until it stands alone
		clear(errs)
		mid := len(ps) / 2
		l.placeSplit(ctx, ps[:mid], errs[:mid])
		l.placeSplit(ctx, ps[mid:], errs[mid:])
	}
}

// placeTx is the transaction. Placements whose generation is stale are told so
// in errs and left out; any other failure is the whole group's.
func (l *Ledger) placeTx(ctx context.Context, ps []*order.Placement, errs []error) (rows []outbox.Row, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		clear(errs)
		rows = nil // of an attempt that was undone: they must not be handed over
		live := make([]*order.Placement, 0, len(ps))
		cabinets := map[string]struct{}{}
		for _, p := range ps {
			cabinets[p.Order.Cabinet] = struct{}{}
		}
		current, err := l.generations(ctx, tx, cabinets, l.dialect.shareFree)
		if err != nil {
			return fmt.Errorf("read generations: %w", err)
		}
		for i, p := range ps {
			if g, ok := current[p.Order.Cabinet]; !ok || g != p.Run.Generation {
				errs[i] = order.ErrStale
				continue
			}
			live = append(live, p)
		}
		if len(live) == 0 {
			return nil
		}
		rows, err = l.insertOrders(ctx, tx, live)
		return err
	})
	return rows, err
}

func (l *Ledger) insertOrders(ctx context.Context, tx *sql.Tx, ps []*order.Placement) ([]outbox.Row, error) {
	now := l.now()
	orders := holds{plain: make([]any, 0, len(ps)*holdCols)}
	lines := make([]any, 0, len(ps)*3*lineCols)
	tickets := make([]any, 0, len(ps)*ticketCols)
	placed := make([]order.Order, 0, len(ps))
	b := l.newRows(now)
	// Ids grow with time but arrive shuffled; in order they fill pages in a row.
	ps = slices.SortedFunc(slices.Values(ps), func(a, b *order.Placement) int { return strings.Compare(a.Order.ID, b.Order.ID) })
	for _, p := range ps {
		o := p.Order
		placed = append(placed, o)
		orders.add(o, now)
		lines = appendLines(lines, o)
		tickets = appendTicket(tickets, o.Cabinet, p.Run, o.ID)
		b.state(statementOf(o))
		b.timer(o.ID, o.ExpiresAt.UnixMilli())
	}
	if err := l.replaced(ctx, tx, b, placed); err != nil {
		return nil, err
	}
	if err := orders.insert(ctx, tx); err != nil {
		if duplicate(err) && len(ps) == 1 {
			return nil, whoseStock(ctx, tx, ps[0])
		}
		return nil, fmt.Errorf("insert orders: %w", err)
	}
	if err := insertRows(ctx, tx, insertLine, lineCols, lines, ""); err != nil {
		return nil, fmt.Errorf("insert lines: %w", err)
	}
	if err := insertTickets(ctx, tx, tickets); err != nil {
		return nil, err
	}
	rows := b.rows()
	return rows, l.insertMsgs(ctx, tx, rows)
}

// whoseStock tells, of a placement whose id has an order, whether the stock it
// took is that order's: two taps of one key share a run, and either may be the
// one that commits. The sweep that gave a run back has spent its ticket, too.
func whoseStock(ctx context.Context, tx *sql.Tx, p *order.Placement) error {
	var spent int
	err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM trade_stock_ticket WHERE cabinet_id = ? AND generation = ? AND ticket = ? AND owner IN (?, ?)",
		p.Order.Cabinet, p.Run.Generation, p.Run.Ticket, p.Order.ID, orphanOwner(p.Order.ID)).Scan(&spent)
	switch {
	case err != nil:
		return fmt.Errorf("read ticket: %w", err)
	case spent > 0:
		return order.ErrExists
	}
	found, err := orders(ctx, tx, selectOrder+" WHERE order_sn = ?", p.Order.ID)
	switch {
	case err != nil:
		return fmt.Errorf("read order: %w", err)
	case len(found) > 0 && found[0].Pending() && found[0].SameContent(p.Order):
		return order.ErrExists
	}
	return order.ErrSpare
}

// appendTicket appends a run's ticket; a run that took nothing drew none.
func appendTicket(args []any, cabinet string, r order.Run, owner string) []any {
	if r.Ticket == 0 {
		return args
	}
	return append(args, cabinet, r.Generation, r.Ticket, owner)
}

// insertTickets records tickets (cabinet, generation, ticket, owner). One ticket
// alone that is already there for another owner was drawn twice.
func insertTickets(ctx context.Context, tx *sql.Tx, args []any) error {
	err := insertRows(ctx, tx, insertTicket, ticketCols, args, "")
	if err == nil || !duplicate(err) || len(args) != ticketCols {
		if err != nil {
			return fmt.Errorf("insert tickets: %w", err)
		}
		return nil
	}
	var owner string
	err = tx.QueryRowContext(ctx, "SELECT owner FROM trade_stock_ticket WHERE cabinet_id = ? AND generation = ? AND ticket = ?",
		args[0], args[1], args[2]).Scan(&owner)
	if err != nil {
		return fmt.Errorf("read ticket: %w", err)
	}
	if owner != args[3] {
		return order.ErrDoubled
	}
	return nil
}

// generations reads, and locks against a rebuild until the transaction ends,
// the current generation of each cabinet: "<cabinet token>.<fleet token>".
//
// With the lock shareFree, a cabinet that is being rebuilt is left out, as if
// its generation were stale: it is about to be, and the others in the group
// must not wait for its rebuild.
func (l *Ledger) generations(ctx context.Context, tx *sql.Tx, cabinets map[string]struct{}, lock string) (map[string]string, error) {
	args := make([]any, 0, len(cabinets)+1)
	args = append(args, fleetRow)
	for c := range cabinets {
		args = append(args, c)
	}
	rows, err := tx.QueryContext(ctx, "SELECT cabinet_id, generation FROM trade_cabinet WHERE cabinet_id IN ("+
		marks(len(args))+") ORDER BY cabinet_id"+lock, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	current := make(map[string]string, len(cabinets))
	fleet := ""
	for rows.Next() {
		var c, g string
		if err := rows.Scan(&c, &g); err != nil {
			return nil, err
		}
		if c == fleetRow {
			fleet = g
		} else {
			current[c] = g
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for c, g := range current {
		current[c] = generation(g, fleet)
	}
	return current, nil
}

func (l *Ledger) announcePlaced(ps []*order.Placement, errs []error) {
	done := make([]order.Order, 0, len(ps))
	for i, p := range ps {
		if errs[i] == nil {
			done = append(done, p.Order)
		}
	}
	l.counters.OrderCommits.Add(1)
	l.counters.Orders.Add(int64(len(done)))
	l.opt.Changed(done)
}

func statementOf(o order.Order) statement.Statement {
	return statement.Statement{ID: o.ID, Cabinet: o.Cabinet, State: statement.State(o.Status), Version: o.Version, Lines: wireLines(o.Lines)}
}

func wireLines(lines []order.Line) []wire.Line {
	out := make([]wire.Line, len(lines))
	for i, l := range lines {
		out[i] = wire.Line{SKU: l.SKU, Qty: l.Qty}
	}
	return out
}
