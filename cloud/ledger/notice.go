package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/payment"
)

// Outcomes of callbacks that no capture gave.
const (
	outcomeIgnored = "ignored" // it is about something else than money that came
	outcomeUnknown = "unknown" // its money belongs to nothing we know: a case is open
)

// KeepNotice keeps a callback; see payment.Notices.
//
// Promise: when it returns nil, the callback and the row that settles it are
// durable, or were before. Dies before the commit: the provider heard nothing
// and sends again. Dies after it: whoever claims the row settles it.
func (l *Ledger) KeepNotice(ctx context.Context, provider string, n payment.Notice) (seen bool, err error) {
	var rows []outbox.Row
	err = l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		rows, seen = nil, false
		b := l.newRows(l.now())
		outcome, settled := "", int64(0)
		if n.State != payment.Paid {
			outcome, settled = outcomeIgnored, b.now
		}
		_, known := payment.OrderOf(n.TradeNo)
		tradeNo := n.TradeNo
		if !known {
			tradeNo = "" // not a number of ours; the body has it
		}
		res, err := tx.ExecContext(ctx, l.dialect.insertNew+"payment_notice (provider, notice_id, trade_no, body, outcome, received_at, settled_at) VALUES (?,?,?,?,?,?,?)",
			provider, n.ID, tradeNo, encode(n), outcome, b.now, settled)
		if err != nil {
			return fmt.Errorf("write callback: %w", err)
		}
		if inserted, err := res.RowsAffected(); err != nil || inserted == 0 {
			seen = true
			return err
		}
		if outcome != "" {
			return nil
		}
		b.add(outbox.KindNotice, tradeNo, string(encode(payment.NoticeRow{Provider: provider, ID: n.ID})), QuickLease)
		rows = b.rows()
		return l.insertMsgs(ctx, tx, rows)
	})
	if err != nil {
		return false, fmt.Errorf("ledger: keep callback: %w", err)
	}
	l.opt.Feed(rows)
	return seen, nil
}

// Notice returns a callback that is kept, or payment.ErrUnknown.
func (l *Ledger) Notice(ctx context.Context, provider, id string) (payment.Kept, error) {
	return notice(ctx, l.read, provider, id)
}

func notice(ctx context.Context, q querier, provider, id string) (k payment.Kept, err error) {
	rows, err := q.QueryContext(ctx, "SELECT body, outcome, received_at FROM payment_notice WHERE provider = ? AND notice_id = ?", provider, id)
	if err != nil {
		return k, fmt.Errorf("ledger: read callback: %w", err)
	}
	defer rows.Close()
	if !rows.Next() {
		return k, errors.Join(rows.Err(), payment.ErrUnknown)
	}
	var body []byte
	var at int64
	if err := rows.Scan(&body, &k.Outcome, &at); err != nil {
		return k, fmt.Errorf("ledger: read callback: %w", err)
	}
	if err := json.Unmarshal(body, &k.Notice); err != nil {
		return k, fmt.Errorf("ledger: read callback: %w", err)
	}
	k.Provider, k.ReceivedAt = provider, ms(at)
	return k, nil
}

// FinishNotice notes what came of a callback, and removes its outbox row. Dies
// before the commit: it is settled again, which finds its money booked.
func (l *Ledger) FinishNotice(ctx context.Context, provider, id, outcome, row string) error {
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		return l.finishNotice(ctx, tx, provider, id, outcome, row)
	})
	if err != nil {
		return fmt.Errorf("ledger: finish callback: %w", err)
	}
	return nil
}

func (l *Ledger) finishNotice(ctx context.Context, tx *sql.Tx, provider, id, outcome, row string) error {
	_, err := tx.ExecContext(ctx, "UPDATE payment_notice SET outcome = ?, settled_at = ? WHERE provider = ? AND notice_id = ? AND outcome = ''", outcome, l.now(), provider, id)
	if err != nil {
		return fmt.Errorf("update callback: %w", err)
	}
	return deleteMsgs(ctx, tx, row)
}

// AbandonNotice calls a person for money that belongs to nothing we know: the
// case stands in the row's place, in one transaction.
func (l *Ledger) AbandonNotice(ctx context.Context, k payment.Kept, detail, row string) error {
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		c := order.Case{Kind: order.CasePaymentUnknown, Subject: k.Provider + "/" + plain(k.TradeNo), Detail: detail}
		if err := l.openCase(ctx, tx, c, l.now()); err != nil {
			return err
		}
		return l.finishNotice(ctx, tx, k.Provider, k.ID, outcomeUnknown, row)
	})
	if err != nil {
		return fmt.Errorf("ledger: abandon callback: %w", err)
	}
	return nil
}

// plain makes somebody else's number fit to be a subject.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, s[:min(len(s), 60)])
}
