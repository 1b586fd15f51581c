package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"vendline/cloud/effect"
	"vendline/cloud/letter"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// Redrive sends one letter back the way it came. dry tells what would be done.
// A letter that was discarded may be redriven: that is how a discard is undone.
//
// Promise: the outbox row that carries it and the letter's new state are one
// transaction. Dies before the commit: the letter is open as before. Dies after
// it: the row's runner, here or elsewhere, carries it out. Twice at once: the
// letter's lock lets one of them find it redriven. A stock statement's row has
// the letter's age, so the watermark never passes it.
func (l *Ledger) Redrive(ctx context.Context, who, id string, dry bool) (letter.Outcome, error) {
	return l.withLetter(ctx, id, dry, func(tx *sql.Tx, d Letter, o *letter.Outcome) ([]outbox.Row, error) {
		if d.State == letter.Redriven {
			o.Refuse = "it was redriven already and has not come back"
			return nil, nil
		}
		way, err := l.wayBack(ctx, tx, d)
		if err != nil {
			var no refuse
			if errors.As(err, &no) {
				o.Refuse, err = string(no), nil
			}
			return nil, err
		}
		if o.Action = way.action; dry {
			return nil, nil
		}
		if err := l.takeWay(ctx, tx, d, way); err != nil {
			return nil, err
		}
		return way.rows, l.letterEvent(ctx, tx, d.ID, who, "redriven", way.action)
	})
}

// Discard gives a letter up, with a note that says why. It stays to be read, and
// may be redriven. A stock statement is given up only when stock does not need
// it; see superseded.
func (l *Ledger) Discard(ctx context.Context, who, note, id string, dry bool) (letter.Outcome, error) {
	if strings.TrimSpace(note) == "" {
		return letter.Outcome{}, errors.New("ledger: a letter is discarded with a note, or not at all")
	}
	return l.withLetter(ctx, id, dry, func(tx *sql.Tx, d Letter, o *letter.Outcome) ([]outbox.Row, error) {
		if d.State != letter.Open {
			o.Refuse = "it is " + string(d.State) + ", not open"
			return nil, nil
		}
		var err error
		if d.Source == letter.Stock {
			if o.Refuse, err = l.needed(ctx, tx, d); err != nil || o.Refuse != "" {
				return nil, err
			}
		}
		if o.Action = "discarded; it can still be redriven by its id"; dry {
			return nil, nil
		}
		if err := setLetter(ctx, tx, d.ID, letter.Discarded, nil); err != nil {
			return nil, err
		}
		return nil, l.letterEvent(ctx, tx, d.ID, who, "discarded", note)
	})
}

// withLetter runs do under the letter's lock and feeds the rows it wrote.
func (l *Ledger) withLetter(ctx context.Context, id string, dry bool, do func(tx *sql.Tx, d Letter, o *letter.Outcome) ([]outbox.Row, error)) (letter.Outcome, error) {
	var o letter.Outcome
	var rows []outbox.Row
	err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
		o, rows = letter.Outcome{ID: id}, nil
		found, err := readLetters(ctx, tx, " WHERE id = ?"+l.dialect.forUpdate, ascii(id))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return ErrNoLetter
		}
		o.Source = found[0].Source
		rows, err = do(tx, found[0], &o)
		return err
	})
	if err != nil {
		return letter.Outcome{}, fmt.Errorf("ledger: dead letter %s: %w", id, err)
	}
	o.Done = o.Refuse == "" && !dry
	l.opt.Feed(rows)
	return o, nil
}

// way is how a letter goes back.
type way struct {
	action   string
	rows     []outbox.Row
	cabinets []string // whose stock in Redis is drawn anew instead
}

// refuse is why a letter cannot go back, for people.
type refuse string

func (r refuse) Error() string { return string(r) }

func (l *Ledger) takeWay(ctx context.Context, tx *sql.Tx, d Letter, w way) error {
	for _, c := range w.cabinets {
		if _, err := tx.ExecContext(ctx, "UPDATE trade_cabinet SET generation = ? WHERE cabinet_id = ?", l.opt.Token(), c); err != nil {
			return fmt.Errorf("draw the fence of %s: %w", c, err)
		}
	}
	var row any
	if len(w.rows) == 1 {
		row = w.rows[0].ID
		if err := deleteMsgs(ctx, tx, w.rows[0].ID); err != nil { // left by a process that died before it could
			return err
		}
	}
	if err := l.insertMsgs(ctx, tx, w.rows); err != nil {
		return err
	}
	return setLetter(ctx, tx, d.ID, letter.Redriven, row)
}

func setLetter(ctx context.Context, tx *sql.Tx, id string, s letter.State, row any) error {
	if _, err := tx.ExecContext(ctx, "UPDATE dead_letter SET state = ?, row_id = ? WHERE id = ?", string(s), row, id); err != nil {
		return fmt.Errorf("mark the dead letter: %w", err)
	}
	return nil
}

// kindOf is the outbox kind that letters of row sources go back to.
var kindOf = map[string]outbox.Kind{
	letter.Callback: outbox.KindCallback, letter.Command: outbox.KindCommand, letter.Replace: outbox.KindReplace,
	letter.Planogram: outbox.KindPlanogram, letter.Intent: outbox.KindIntent, letter.Alert: outbox.KindAlert,
}

// wayBack is the table of ways, by source. A refuse says why there is none.
func (l *Ledger) wayBack(ctx context.Context, tx *sql.Tx, d Letter) (way, error) {
	switch d.Source {
	case letter.Stock:
		return l.stockWay(ctx, tx, d, d.CreatedAt.UnixMilli())
	case letter.Queue:
		return l.stockWay(ctx, tx, d, l.now())
	case letter.DLQ:
		var t outbox.Timer
		if _, err := statement.Decode(d.Payload); err != nil && json.Unmarshal(d.Payload, &t) == nil && len(t.IDs) > 0 && t.At > 0 {
			return l.rowWay(d, outbox.KindTimer, d.Payload, "its holds are looked at again")
		}
		return l.stockWay(ctx, tx, d, l.now())
	case letter.MQTT:
		return l.mqttWay(d)
	case letter.Effect:
		return l.effectWay(d)
	case letter.Callback, letter.Command, letter.Replace, letter.Planogram, letter.Intent, letter.Alert:
		if err := readable(d.Source, d.Payload); err != nil {
			return way{}, refuse("it is still unreadable: " + err.Error())
		}
		return l.rowWay(d, kindOf[d.Source], d.Payload, "back into the outbox as "+string(kindOf[d.Source]))
	}
	return way{}, refuse("nothing here knows the way of a " + d.Source + " letter")
}

// stockWay states a letter's statements again. What the books do not say is not
// stated: stock would move for an order or fact that nothing explains.
func (l *Ledger) stockWay(ctx context.Context, tx *sql.Tx, d Letter, created int64) (way, error) {
	if l.opt.Direct {
		return way{}, refuse("step 8 does not run in synchronous mode: redrive it from a service in asynchronous mode")
	}
	m, err := statement.Decode(d.Payload)
	if err != nil {
		return way{}, refuse("it is still unreadable: " + err.Error())
	}
	if len(m.Statements) == 0 {
		return way{}, refuse("it states nothing: discard it")
	}
	for _, s := range m.Statements {
		if err := s.Check(); err != nil {
			return way{}, refuse("no retry can make it possible: " + err.Error())
		}
		if err := l.inBooks(ctx, tx, s); err != nil {
			return way{}, err
		}
	}
	return way{rows: l.stockRows(m.Statements, created, l.now()+StockLease.Milliseconds()), action: fmt.Sprintf("%d statements go to step 8 again", len(m.Statements))}, nil
}

// inBooks refuses a statement of an order that is not there, or has not come so
// far, or is of another cabinet; and of a fact that is not there.
func (l *Ledger) inBooks(ctx context.Context, tx *sql.Tx, s statement.Statement) error {
	q, args := "SELECT COUNT(*) FROM trade_order WHERE order_sn = ? AND cabinet_id = ? AND version >= ?", []any{s.ID, s.Cabinet, s.Version}
	if s.State.Fact() {
		q, args = "SELECT COUNT(*) FROM trade_fact WHERE fact_id = ? AND cabinet_id = ?", []any{s.ID, s.Cabinet}
	}
	var n int
	if err := tx.QueryRowContext(ctx, q, args...).Scan(&n); err != nil {
		return fmt.Errorf("look a statement up: %w", err)
	}
	if n == 0 {
		return refuse(fmt.Sprintf("the books know nothing of %s %s, version %d, at %s: discard it", s.State, s.ID, s.Version, s.Cabinet))
	}
	return nil
}

// rowWay puts a payload back into the outbox, with no attempts counted. A
// callback keeps its id, by which its receiver knows it.
func (l *Ledger) rowWay(d Letter, kind outbox.Kind, payload []byte, action string) (way, error) {
	r := outbox.Row{ID: l.opt.ID(), Kind: kind, Shard: l.Shard(d.Cabinet), Payload: payload, CreatedAt: ms(l.now()), DueAt: ms(l.now()).Add(QuickLease)}
	if row := d.Meta["row"]; d.Source == letter.Callback && wire.ValidID(row) {
		r.ID = row
	}
	return way{rows: []outbox.Row{r}, action: action}, nil
}

// mqttWay lets the intake decode what a cabinet sent once more.
func (l *Ledger) mqttWay(d Letter) (way, error) {
	cabinet, channel, ok := wire.ParseTopic(d.Meta["topic"])
	if !ok {
		return way{}, refuse("its topic names no cabinet")
	}
	if channel != wire.ChannelFact {
		return way{}, refuse("only facts are taken in late: the shopper of a scan-order is gone, and nothing was taken; discard it")
	}
	if _, err := wire.DecodeEvent(d.Payload, cabinet, channel); err != nil {
		return way{}, refuse("it is still unreadable: " + err.Error())
	}
	return l.rowWay(d, outbox.KindIntake, encode(outbox.Intake{Topic: d.Meta["topic"], Payload: d.Payload}), "the intake decodes it again and books the fact")
}

// effectWay rebuilds the cabinets that an effect was for. To carry it out again
// would count it twice: a rebuild since then has it in already.
func (l *Ledger) effectWay(d Letter) (way, error) {
	effects, err := effect.Decode(d.Payload)
	if err != nil {
		return way{}, refuse("it is still unreadable; MySQL has what it was to tell Redis: warm its cabinets up, or wait for the reconcile, then discard it: " + err.Error())
	}
	var cabinets []string
	for _, e := range effects {
		cabinets = append(cabinets, e.Cabinet())
	}
	slices.Sort(cabinets)
	cabinets = slices.Compact(cabinets)
	return way{cabinets: cabinets, action: "the stock of " + strings.Join(cabinets, ", ") + " in Redis is rebuilt from MySQL, which has it"}, nil
}

// readable reports why a row of a source cannot be read.
func readable(source string, b []byte) error {
	bad := func(err error, named bool, what string) error {
		if err == nil && !named {
			return errors.New("names no " + what)
		}
		return err
	}
	switch source {
	case letter.Callback:
		var v outbox.Callback
		err := json.Unmarshal(b, &v)
		return bad(err, v.URL != "", "URL")
	case letter.Replace:
		var v outbox.Replace
		err := json.Unmarshal(b, &v)
		return bad(err, len(v.IDs) > 0, "hold")
	case letter.Alert:
		var v struct{ Sink string }
		err := json.Unmarshal(b, &v)
		return bad(err, v.Sink != "", "sink")
	case letter.Intent:
		var v outbox.Intents
		err := json.Unmarshal(b, &v)
		return bad(err, len(v.IDs) > 0, "order")
	case letter.Planogram:
		var v outbox.Planogram
		err := json.Unmarshal(b, &v)
		return bad(err, v.Cabinet != "" && v.Version > 0, "planogram")
	}
	return bad(nil, len(b) > 0, "command")
}

// needed says why stock cannot do without a letter's statements: some line of an
// order or fact that they are about is not in the deduct log as it stands now. A
// letter given up all the same would let the watermark pass an order that
// stock has not seen: the ledger would no longer explain itself. What is
// neither an order nor a fact binds nobody.
func (l *Ledger) needed(ctx context.Context, tx *sql.Tx, d Letter) (string, error) {
	m, err := statement.Decode(d.Payload)
	if err != nil {
		return "it is a stock statement that this version cannot read: it stays until one can", nil
	}
	for _, s := range m.Statements {
		const inForce = "('PRE_RESERVED', 'CONSUMED')"
		var open int64
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn
			LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.order_sn AND g.sku_id = l.sku_id
			WHERE o.order_sn = ? AND COALESCE(g.version, 0) < o.version AND (o.status IN `+inForce+` OR g.status IN `+inForce+`)`+l.dialect.forShare, s.ID).Scan(&open); err != nil {
			return "", fmt.Errorf("ask what stock knows: %w", err)
		}
		if open > 0 {
			return fmt.Sprintf("stock does not know yet how order %s stands (%d lines): redrive it, or wait until a later statement of the order is applied", s.ID, open), nil
		}
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM trade_fact_line l LEFT JOIN trade_stock_deduct_log g ON g.order_sn = l.fact_id AND g.sku_id = l.sku_id
			WHERE l.fact_id = ? AND g.order_sn IS NULL`, s.ID).Scan(&open); err != nil {
			return "", fmt.Errorf("ask what stock knows: %w", err)
		}
		if open > 0 {
			return fmt.Sprintf("fact %s happened and is not in stock (%d lines): repair what its reason says, then redrive it", s.ID, open), nil
		}
	}
	return "", nil
}
