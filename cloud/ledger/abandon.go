package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"vendline/cloud/dispense"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

// AbandonCommand gives up on a command whose time to begin was over at before,
// and of which not every line has its last word; else it changes nothing. Lines
// without one are refunded and a person is called. A command that no cabinet can
// have heard of is taken back instead, units and all. One that a cabinet may have
// carried out leaves its units where they are: the report that may still come
// tells, or the next count finds them.
//
// Promise: refunds, history, case and the end of the command's outbox row are
// one transaction under the locks of cabinet and order. Dies before: the row
// comes again. Dies after: nothing is left but the refunds' own rows.
func (l *Ledger) AbandonCommand(ctx context.Context, id string, before time.Time) error {
	var rows []outbox.Row
	var changed []order.Order
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		rows, changed = nil, nil
		c, err := oneCommand(ctx, tx, id, "")
		if err != nil {
			return err
		}
		if err := l.enter(ctx, tx, c.cabinet, false); err != nil {
			return err
		}
		b := l.newRows(l.now())
		v, err := l.lockVend(ctx, tx, b, c.order, id)
		if err != nil {
			return err
		}
		if s := v.command.status; s != commandOpen && s != commandReported || v.command.expiresAt > before.UnixMilli() {
			return nil
		}
		if err := v.abandon(ctx); err != nil {
			return err
		}
		var losers []order.Order
		rows, losers, err = l.hand(ctx, tx, b)
		changed = append(losers, v.order)
		return err
	})
	if errors.Is(err, errNoCommand) {
		return dispense.ErrUnknown
	}
	if err != nil {
		return fmt.Errorf("ledger: abandon command %s: %w", id, err)
	}
	l.opt.Feed(rows)
	l.opt.Changed(changed)
	return nil
}

func (v *vend) abandon(ctx context.Context) error {
	if v.withdrawable() {
		if err := v.notDispensed(ctx, "its cabinet never asked"); err != nil {
			return err
		}
		return v.withdraw(ctx, "the cabinet never asked for it")
	}
	silent := false
	for i := range v.order.Lines {
		l := &v.order.Lines[i]
		r := v.reports[l.SKU]
		if r.final() {
			continue
		}
		if r.result == "" {
			silent = true
			if err := v.setLine(ctx, l, order.LineUnknown, 0); err != nil {
				return err
			}
			if err := v.l.note(ctx, v.tx, v.order.ID, v.b.now, order.Entry{Kind: order.EntryLine, State: string(order.LineUnknown), SKU: l.SKU,
				Ref: v.command.id, Cause: "no word from the cabinet"}); err != nil {
				return err
			}
		}
		if err := v.refund(ctx, l, "no word that it was dispensed"); err != nil {
			return err
		}
	}
	if !silent {
		return v.close(ctx, commandDone)
	}
	if err := v.notDispensed(ctx, "its cabinet never said what became of it"); err != nil {
		return err
	}
	return v.close(ctx, commandAbandoned)
}

func (v *vend) notDispensed(ctx context.Context, detail string) error {
	return v.l.openCase(ctx, v.tx, order.Case{Kind: order.CaseNotDispensed, Subject: v.order.ID, Order: v.order.ID, Cabinet: v.order.Cabinet, Detail: detail}, v.b.now)
}
