package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"vendline/cloud/effect"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
)

// Inserts, with the number of columns of each.
const (
	insertOrder = "INSERT INTO trade_order (order_sn, cabinet_id, user_id, status, version, amount, currency, orphan, cause, created_at, changed_at, expires_at, hold_until)"
	orderCols   = 13

	// A new hold leaves status, version, orphan and cause to their defaults: what
	// is not in the statement need not be parsed, 9,000 times a second.
	insertHold = "INSERT INTO trade_order (order_sn, cabinet_id, user_id, amount, currency, created_at, changed_at, expires_at, hold_until)"
	holdCols   = 9

	// … and so does one without a planogram its priced_at.
	insertPricedHold = "INSERT INTO trade_order (order_sn, cabinet_id, user_id, amount, currency, created_at, changed_at, expires_at, hold_until, priced_at)"
	pricedHoldCols   = 10

	insertLine = "INSERT INTO trade_order_line (order_sn, sku_id, qty, price)"
	lineCols   = 4

	insertTicket = "INSERT INTO trade_stock_ticket (cabinet_id, generation, ticket, owner)"
	ticketCols   = 4

	insertMsg = "INSERT INTO local_msg (id, kind, shard, payload, attempts, created_at, due_at)"
	msgCols   = 7
)

// appendOrder appends an order's columns. changed_at and the created_at of the
// outbox row that states the change are the same instant: see watermark.
func appendOrder(args []any, o order.Order, now int64, cause string) []any {
	var hold any
	if o.Status == order.PreReserved {
		hold = o.ExpiresAt.UnixMilli()
	}
	orphan := 0
	if o.Orphan {
		orphan = 1
	}
	return append(args, o.ID, o.Cabinet, o.User, string(o.Status), o.Version, o.Amount, o.Currency, orphan, cause,
		o.CreatedAt.UnixMilli(), now, o.ExpiresAt.UnixMilli(), hold)
}

// appendHold appends a new hold's columns: PRE_RESERVED, version 1.
func appendHold(args []any, o order.Order, now int64) []any {
	until := o.ExpiresAt.UnixMilli()
	return append(args, o.ID, o.Cabinet, o.User, o.Amount, o.Currency, o.CreatedAt.UnixMilli(), now, until, until)
}

// holds are new holds' columns, by whether they were priced under a planogram.
type holds struct{ plain, priced []any }

func (h *holds) add(o order.Order, now int64) {
	if o.PricedAt == 0 {
		h.plain = appendHold(h.plain, o, now)
	} else {
		h.priced = append(appendHold(h.priced, o, now), o.PricedAt)
	}
}

func (h *holds) insert(ctx context.Context, tx *sql.Tx) error {
	if err := insertRows(ctx, tx, insertHold, holdCols, h.plain, ""); err != nil {
		return err
	}
	return insertRows(ctx, tx, insertPricedHold, pricedHoldCols, h.priced, "")
}

func appendLines(args []any, o order.Order) []any {
	for _, l := range o.Lines {
		args = append(args, o.ID, l.SKU, l.Qty, l.Price)
	}
	return args
}

// rowSet gathers what one commit group has to tell: one stock row per shard,
// one Redis row per shard, one timer row, however many orders there are. That
// is why the cost per order of outbox and queue falls with load.
type rowSet struct {
	l      *Ledger
	now    int64
	stock  []statement.Statement
	redis  map[int][]effect.Effect
	timers outbox.Timer
	others []outbox.Row

	replaced []string // holds that give way
}

func (l *Ledger) newRows(now int64) *rowSet {
	return &rowSet{l: l, now: now, redis: map[int][]effect.Effect{}}
}

func (b *rowSet) state(s statement.Statement) {
	b.stock = append(b.stock, s)
}

func (b *rowSet) effect(e effect.Effect) {
	k := b.l.Shard(e.Cabinet())
	b.redis[k] = append(b.redis[k], e)
}

// timer asks for a look at id at the given time; a group's timers share one
// message, due at the latest of them, since its holds were made together.
func (b *rowSet) timer(id string, at int64) {
	b.timers.IDs = append(b.timers.IDs, id)
	b.timers.At = max(b.timers.At, at)
}

// add asks for a row of its own, which is somebody's by name: claimable by the
// poll once lease is over, and carried from memory at once.
func (b *rowSet) add(kind outbox.Kind, cabinet, payload string, lease time.Duration) {
	b.others = append(b.others, outbox.Row{ID: b.l.opt.ID(), Kind: kind, Shard: b.l.Shard(cabinet), Payload: []byte(payload),
		CreatedAt: ms(b.now), DueAt: ms(b.now).Add(lease)})
}

func (b *rowSet) rows() []outbox.Row {
	out := b.l.stockRows(b.stock, b.now, b.now+StockLease.Milliseconds())
	add := func(kind outbox.Kind, shard int, lease time.Duration, payload func(id string) []byte) {
		id := b.l.opt.ID()
		out = append(out, outbox.Row{ID: id, Kind: kind, Shard: shard, Payload: payload(id), CreatedAt: ms(b.now), DueAt: ms(b.now).Add(lease)})
	}
	for shard, es := range b.redis {
		add(outbox.KindRedis, shard, QuickLease, func(string) []byte { return effect.Encode(es) })
	}
	if len(b.timers.IDs) > 0 {
		add(outbox.KindTimer, 0, QuickLease, func(string) []byte { return encode(b.timers) })
	}
	if len(b.replaced) > 0 {
		out = append(out, b.replaceRow(b.l.opt.ID()))
	}
	return append(out, b.others...)
}

// maxStatements keeps a message far below queue.MaxBody: a statement of 50
// lines is about 5 kB.
const maxStatements = 150

func (l *Ledger) insertMsgs(ctx context.Context, tx *sql.Tx, rows []outbox.Row) error {
	args := make([]any, 0, len(rows)*msgCols)
	for _, r := range rows {
		args = append(args, r.ID, string(r.Kind), r.Shard, r.Payload, r.Attempts, r.CreatedAt.UnixMilli(), r.DueAt.UnixMilli())
	}
	if err := insertRows(ctx, tx, insertMsg, msgCols, args, ""); err != nil {
		return fmt.Errorf("insert outbox rows: %w", err)
	}
	return nil
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("ledger: encode %T: %v", v, err)) // unreachable: plain strings and numbers
	}
	return b
}
