package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"vendline/cloud/effect"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

// Refuse ends a pending order with everyone who comes at the same time; see
// order.Intents.
//
// Promise: when it returns nil, the reason, the version that no late placement
// gets past, the callback, and the effect that gives back whatever Redis holds
// for it are durable together. Dies before the commit: the order is pending and
// its outbox row comes again. Dies after: the row finds it decided.
func (l *Ledger) Refuse(ctx context.Context, r *order.Refused) error {
	return l.refusals.Do(ctx, r)
}

func (l *Ledger) refuseGroup(ctx context.Context, rs []*order.Refused) []error {
	errs := make([]error, len(rs))
	tctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var rows []outbox.Row
	var refused []order.Order
	err := l.inTx(tctx, l.dialect.commit, func(tx *sql.Tx) (err error) {
		clear(errs)
		rows, refused, err = l.refuseTx(tctx, tx, rs, errs)
		return err
	})
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	l.opt.Feed(rows)
	l.opt.Changed(refused)
	return errs
}

// alikeRefused are refused orders that are written in one statement.
type alikeRefused struct {
	code   wire.Code
	detail string
}

func (l *Ledger) refuseTx(ctx context.Context, tx *sql.Tx, rs []*order.Refused, errs []error) ([]outbox.Row, []order.Order, error) {
	now := l.now()
	if l.opt.Direct {
		if err := l.ownStock(ctx, tx); err != nil {
			return nil, nil, err
		}
	}
	cs := make([]*order.Change, len(rs))
	for i, r := range rs {
		cs[i] = &order.Change{ID: r.ID}
	}
	current, err := l.lockOrders(ctx, tx, cs)
	if err != nil {
		return nil, nil, err
	}
	b := l.newRows(now)
	alike := map[alikeRefused][]any{}
	var refused []order.Order
	var history []any
	for i, r := range rs {
		o, ok := current[r.ID]
		switch {
		case !ok:
			errs[i] = order.ErrUnknown
			continue
		case !o.Pending():
			errs[i] = &order.StateError{Order: o, Event: order.PreDeduct}
			continue
		}
		k := alikeRefused{r.Code, strings.ToValidUTF8(r.Detail[:min(len(r.Detail), 255)], "")}
		alike[k] = append(alike[k], o.ID)
		o.Version = order.RefusedVersion
		if o.Intent != nil {
			i := *o.Intent
			i.Status, i.Code, i.Detail, i.ChangedAt = order.IntentRefused, k.code, k.detail, ms(now)
			o.Intent = &i
		}
		e := order.Entry{At: ms(now), Kind: order.EntryIntent, State: string(order.IntentRefused), Version: o.Version, Cause: string(k.code) + ": " + k.detail}
		history = append(history, o.ID, l.opt.ID(), now, encode(e))
		if !l.opt.Direct {
			b.effect(effect.Effect{Release: releaseOf(o)})
		}
		b.callback(o)
		current[o.ID] = o
		refused = append(refused, o)
	}
	for k, ids := range alike {
		if err := refuseAlike(ctx, tx, k, ids, now); err != nil {
			return nil, nil, err
		}
	}
	if err := insertRows(ctx, tx, insertEvent, eventCols, history, ""); err != nil {
		return nil, nil, fmt.Errorf("write history: %w", err)
	}
	rows := b.rows()
	return rows, refused, l.insertMsgs(ctx, tx, rows)
}

func refuseAlike(ctx context.Context, tx *sql.Tx, k alikeRefused, ids []any, now int64) error {
	in := " AND order_sn IN (" + marks(len(ids)) + ")"
	_, err := tx.ExecContext(ctx, "UPDATE trade_order SET version = ?, cause = ?, changed_at = ? WHERE status = 'INIT' AND version = 0"+in,
		append([]any{order.RefusedVersion, "refused: " + string(k.code), now}, ids...)...)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE trade_intent SET status = ?, code = ?, detail = ?, changed_at = ? WHERE status = 'pending'"+in,
			append([]any{string(order.IntentRefused), string(k.code), k.detail, now}, ids...)...)
	}
	if err != nil {
		return fmt.Errorf("refuse orders: %w", err)
	}
	return nil
}
