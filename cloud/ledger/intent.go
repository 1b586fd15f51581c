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
	"vendline/shared/wire"
)

const (
	insertIntentOrder = "INSERT INTO trade_order (order_sn, cabinet_id, user_id, status, version, amount, currency, orphan, cause, created_at, changed_at, expires_at, hold_until, priced_at, intent)"
	intentOrderCols   = 15

	insertIntent = "INSERT INTO trade_intent (order_sn, status, code, detail, callback_url, created_at, changed_at, patience_until)"
	intentCols   = 8

	// maxIntents is the most orders of one intent row.
	maxIntents = 150

	// IntentLease is how long a fresh intent row is left to the process that took
	// it in, which places it from memory: under a peak it may have to wait its turn.
	IntentLease = 15 * time.Second
)

// TakeIn commits a pending order with everyone who comes at the same time; see
// order.Intents.
//
// Promise: when it returns nil, the order, its lines, its intent and the outbox
// row that places it are durable, all or none; no stock is taken. Dies before
// the commit: nothing happened anywhere, and the caller asks again. Dies after:
// the row is claimed when its lease is over.
func (l *Ledger) TakeIn(ctx context.Context, o *order.Order) error {
	// The group's copy: whoever goes away leaves it to others.
	taken := *o
	return l.intents.Do(ctx, &taken)
}

func (l *Ledger) takeInGroup(ctx context.Context, os []*order.Order) []error {
	errs := make([]error, len(os))
	l.takeInSplit(ctx, os, errs)
	return errs
}

func (l *Ledger) takeInSplit(ctx context.Context, os []*order.Order, errs []error) {
	tctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var rows []outbox.Row
	err := l.inTx(tctx, l.dialect.commit, func(tx *sql.Tx) (err error) {
		clear(errs)
		rows, err = l.takeInTx(tctx, tx, os, errs)
		return err
	})
	switch {
	case err == nil:
		l.opt.Feed(rows)
	case len(os) == 1 || transient(err) || ctx.Err() != nil:
		for i := range errs {
			errs[i] = err
		}
	default: // somebody here is bad: halve until it stands alone
		clear(errs)
		mid := len(os) / 2
		l.takeInSplit(ctx, os[:mid], errs[:mid])
		l.takeInSplit(ctx, os[mid:], errs[mid:])
	}
}

// takeInTx is the transaction. Orders whose id is taken, or whose cabinet or SKU
// is not there, are told so in errs and left out.
func (l *Ledger) takeInTx(ctx context.Context, tx *sql.Tx, os []*order.Order, errs []error) ([]outbox.Row, error) {
	now := l.now()
	sold, err := l.soldAt(ctx, tx, os)
	if err != nil {
		return nil, err
	}
	taken, err := takenIDs(ctx, tx, os)
	if err != nil {
		return nil, err
	}
	live := make([]*order.Order, 0, len(os))
	for i, o := range os {
		if taken[o.ID] { // also by a second tap in this very group
			errs[i] = order.ErrExists
			continue
		}
		if no := notSold(*o, sold); no != nil {
			errs[i] = no
			continue
		}
		taken[o.ID] = true
		live = append(live, o)
	}
	if len(live) == 0 {
		return nil, nil
	}
	slices.SortFunc(live, func(a, b *order.Order) int { return strings.Compare(a.ID, b.ID) })
	b := l.newRows(now)
	var orders, lines, intents []any
	for chunk := range slices.Chunk(live, maxIntents) {
		ids := make([]string, len(chunk))
		for i, o := range chunk {
			ids[i] = o.ID
			orders = append(appendOrder(orders, *o, now, "taken in"), o.PricedAt, 1)
			lines = appendLines(lines, *o)
			intents = append(intents, o.ID, string(order.IntentPending), "", "", o.Intent.Callback, o.CreatedAt.UnixMilli(), now, o.Intent.DecideBy.UnixMilli())
		}
		b.add(outbox.KindIntent, "", string(encode(outbox.Intents{IDs: ids})), IntentLease)
	}
	if err := insertRows(ctx, tx, insertIntentOrder, intentOrderCols, orders, ""); err != nil {
		if duplicate(err) && len(live) == 1 {
			return nil, order.ErrExists
		}
		return nil, fmt.Errorf("insert orders: %w", err)
	}
	if err := insertRows(ctx, tx, insertLine, lineCols, lines, ""); err != nil {
		return nil, fmt.Errorf("insert lines: %w", err)
	}
	if err := insertRows(ctx, tx, insertIntent, intentCols, intents, ""); err != nil {
		return nil, fmt.Errorf("insert intents: %w", err)
	}
	rows := b.rows()
	return rows, l.insertMsgs(ctx, tx, rows)
}

// takenIDs tells which orders' ids are taken. Repeats are common in a peak, and
// should not cost their company its commit.
func takenIDs(ctx context.Context, tx *sql.Tx, os []*order.Order) (map[string]bool, error) {
	args := make([]any, len(os))
	for i, o := range os {
		args[i] = o.ID
	}
	rows, err := tx.QueryContext(ctx, "SELECT order_sn FROM trade_order WHERE order_sn IN ("+marks(len(args))+")", args...)
	if err != nil {
		return nil, fmt.Errorf("look for ids: %w", err)
	}
	defer rows.Close()
	taken := make(map[string]bool, len(os))
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("look for ids: %w", err)
		}
		taken[id] = true
	}
	return taken, rows.Err()
}

// soldAt is what the orders' cabinets sell: cabinet → SKUs. A cabinet that is
// not there is missing.
func (l *Ledger) soldAt(ctx context.Context, tx *sql.Tx, os []*order.Order) (map[string]map[string]bool, error) {
	cabinets := map[string]bool{}
	for _, o := range os {
		cabinets[o.Cabinet] = true
	}
	sold := make(map[string]map[string]bool, len(cabinets))
	rows, err := tx.QueryContext(ctx, `SELECT c.cabinet_id, COALESCE(s.sku_id, '') FROM trade_cabinet c
		LEFT JOIN trade_sku_stock s ON s.cabinet_id = c.cabinet_id WHERE c.cabinet_id IN (`+marks(len(cabinets))+")", anys(sortedKeys(cabinets))...)
	if err != nil {
		return nil, fmt.Errorf("read what cabinets sell: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var c, sku string
		if err := rows.Scan(&c, &sku); err != nil {
			return nil, fmt.Errorf("read what cabinets sell: %w", err)
		}
		if sold[c] == nil {
			sold[c] = map[string]bool{}
		}
		sold[c][sku] = true
	}
	return sold, rows.Err()
}

func notSold(o order.Order, sold map[string]map[string]bool) error {
	skus, ok := sold[o.Cabinet]
	if !ok || o.Cabinet == fleetRow {
		return &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no cabinet " + o.Cabinet}
	}
	for _, l := range o.Lines {
		if !skus[l.SKU] {
			return &order.Refusal{Code: wire.CodeSKUUnknown, Detail: "this cabinet does not sell " + l.SKU}
		}
	}
	return nil
}

// Pending returns those of orders that still wait to be placed.
func (l *Ledger) Pending(ctx context.Context, ids ...string) ([]order.Order, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := orders(ctx, l.read, selectOrder+" WHERE order_sn IN ("+marks(len(ids))+") AND status = 'INIT' AND version = 0", anys(ids)...)
	if err != nil {
		return nil, fmt.Errorf("ledger: find pending orders: %w", err)
	}
	out := make([]order.Order, len(found))
	for i, o := range found {
		out[i] = o.Order
	}
	return out, nil
}

// CountIntents is how many orders wait to be placed, and whether any was ever
// taken in.
func (l *Ledger) CountIntents(ctx context.Context) (waiting int64, used bool, err error) {
	var any int64
	err = l.read.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM trade_intent WHERE status = 'pending'),
		(SELECT COUNT(*) FROM (SELECT order_sn FROM trade_intent LIMIT 1) AS one)`).Scan(&waiting, &any)
	if err != nil {
		return 0, false, fmt.Errorf("ledger: count intents: %w", err)
	}
	return waiting, any > 0, nil
}

// fillIntents reads the intents of orders that have one.
func fillIntents(ctx context.Context, q querier, found []stored) error {
	at := map[string]*order.Intent{}
	var ids []any
	for _, o := range found {
		if o.Intent != nil {
			at[o.ID] = o.Intent
			ids = append(ids, o.ID)
		}
	}
	for len(ids) > 0 {
		n := min(len(ids), maxArgs)
		if err := intents(ctx, q, at, ids[:n]); err != nil {
			return fmt.Errorf("read intents: %w", err)
		}
		ids = ids[n:]
	}
	return nil
}

func intents(ctx context.Context, q querier, at map[string]*order.Intent, ids []any) error {
	rows, err := q.QueryContext(ctx, "SELECT order_sn, status, code, detail, callback_url, changed_at, patience_until FROM trade_intent WHERE order_sn IN ("+
		marks(len(ids))+")", ids...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var i order.Intent
		var changed, by int64
		if err := rows.Scan(&id, &i.Status, &i.Code, &i.Detail, &i.Callback, &changed, &by); err != nil {
			return err
		}
		i.ChangedAt, i.DecideBy = ms(changed), ms(by)
		*at[id] = i
	}
	return rows.Err()
}
