package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"vendline/cloud/order"
	"vendline/cloud/payment"
	"vendline/cloud/statement"
	"vendline/shared/money"
	"vendline/shared/wire"
)

// vend is a paid order on its way out of a cabinet, with its row held.
type vend struct {
	l       *Ledger
	tx      *sql.Tx
	b       *rowSet
	order   order.Order
	command commandRow
	payment *payment.Payment // whose money pays for it; nil if none is booked
	reports map[string]lineReport
	back    skuUnits // units that go back to stock by this transaction
}

// errNoCommand says that a command, or its order, does not exist.
var errNoCommand = errors.New("ledger: no such command")

// lockVend locks an order, then its command, and reads what is known of both.
// The cabinet's row is held already, so that the order is: cabinet, order, command.
func (l *Ledger) lockVend(ctx context.Context, tx *sql.Tx, b *rowSet, id, command string) (*vend, error) {
	found, err := orders(ctx, tx, selectOrder+" WHERE order_sn = ?"+l.dialect.forUpdate, id)
	if err != nil {
		return nil, fmt.Errorf("lock order: %w", err)
	}
	if len(found) == 0 {
		return nil, errNoCommand
	}
	v := &vend{l: l, tx: tx, b: b, order: found[0].Order, back: skuUnits{}}
	if v.command, err = oneCommand(ctx, tx, command, l.dialect.forUpdate); err != nil {
		return nil, err
	}
	if v.command.order != id {
		return nil, errNoCommand
	}
	if v.reports, err = reportsOf(ctx, tx, id); err != nil {
		return nil, err
	}
	paid, err := payments(ctx, tx, selectPayment+" WHERE order_sn = ? AND status = 'paid'", id)
	if err != nil {
		return nil, fmt.Errorf("read payment: %w", err)
	}
	if len(paid) > 0 {
		v.payment = &paid[0]
	}
	return v, nil
}

func (v *vend) line(sku string) *order.Line {
	i := slices.IndexFunc(v.order.Lines, func(l order.Line) bool { return l.SKU == sku })
	if i < 0 {
		return nil
	}
	return &v.order.Lines[i]
}

// learn writes what is known of a line now: report, state and history. Units
// that are still in their slot are noted to go back to stock.
func (v *vend) learn(ctx context.Context, l *order.Line, r lineReport, state order.LineState, cause string) error {
	was := v.reports[l.SKU]
	v.reports[l.SKU] = r
	if err := setReport(ctx, v.tx, v.order.ID, l.SKU, v.command.id, r, v.b.now); err != nil {
		return err
	}
	if n := r.back(l.Qty) - was.back(l.Qty); n != 0 {
		v.back[l.SKU] += n
	}
	if err := v.setLine(ctx, l, state, r.units); err != nil {
		return err
	}
	return v.l.note(ctx, v.tx, v.order.ID, v.b.now, order.Entry{Kind: order.EntryLine, State: r.result, SKU: l.SKU, Units: r.units, Ref: v.command.id, Cause: cause})
}

// setLine writes a line's state. A line that is paid back stays so, unless it
// dropped after all.
func (v *vend) setLine(ctx context.Context, l *order.Line, state order.LineState, dropped int) error {
	if l.State == order.LineRefunded && state != order.LineDispensed {
		state = order.LineRefunded
	}
	l.State, l.Dropped = state, dropped
	_, err := v.tx.ExecContext(ctx, "UPDATE trade_order_line SET state = ?, dropped = ? WHERE order_sn = ? AND sku_id = ?", string(state), dropped, v.order.ID, l.SKU)
	if err != nil {
		return fmt.Errorf("write line state: %w", err)
	}
	return nil
}

// refund pays back the units of a line that did not drop, once. An order that no
// booked payment paid for has nothing to go back.
func (v *vend) refund(ctx context.Context, l *order.Line, reason string) error {
	if v.payment == nil || l.Dropped >= l.Qty {
		return nil
	}
	return v.l.addRefund(ctx, v.tx, v.b, refund{payment: v.payment.ID, order: v.order, sku: l.SKU, reason: reason,
		amount: money.Money{Minor: int64(l.Qty-l.Dropped) * l.Price, Currency: v.order.Currency}})
}

// overpaid reports whether more of a line was paid back than did not drop.
func (v *vend) overpaid(ctx context.Context, l *order.Line) (bool, error) {
	var back int64
	err := v.tx.QueryRowContext(ctx, "SELECT COALESCE(SUM(amount), 0) FROM trade_refund WHERE order_sn = ? AND sku_id = ?", v.order.ID, l.SKU).Scan(&back)
	if err != nil {
		return false, fmt.Errorf("sum refunds: %w", err)
	}
	return back > int64(l.Qty-l.Dropped)*l.Price, nil
}

// giveBack books the units that are in their slot after all: a RETURN per line,
// named by command and SKU, so that there is one whoever finds out. Units that
// were given back and dropped all the same are gone.
func (v *vend) giveBack(ctx context.Context, from string) error {
	lost := skuUnits{}
	for _, sku := range sortedKeys(v.back) {
		n := v.back[sku]
		if n < 0 {
			lost[sku] = n
			continue
		}
		f := Fact{ID: derived(v.command.id, sku, string(statement.Return)), Cabinet: v.order.Cabinet, State: statement.Return,
			Cause: "not dispensed", Lines: []wire.Line{{SKU: sku, Qty: int(n)}}}
		if err := v.l.addFact(ctx, v.tx, v.b, f); err != nil {
			return fmt.Errorf("return units: %w", err)
		}
	}
	return v.l.addDifference(ctx, v.tx, v.b, v.order.Cabinet, from, "dispensed after its return", lost)
}

// close ends a command, and removes its outbox row if it has one.
func (v *vend) close(ctx context.Context, status string) error {
	if v.command.status == status {
		return nil
	}
	_, err := v.tx.ExecContext(ctx, "UPDATE trade_command SET status = ?, changed_at = ? WHERE command_id = ?", status, v.b.now, v.command.id)
	if err != nil {
		return fmt.Errorf("write command: %w", err)
	}
	v.command.status = status
	if status != commandReported {
		if err := deleteMsgs(ctx, v.tx, v.command.id); err != nil {
			return err
		}
	}
	return v.l.note(ctx, v.tx, v.order.ID, v.b.now, order.Entry{Kind: order.EntryCommand, State: status, Ref: v.command.id})
}

// withdraw takes a command back that no cabinet has heard of: nothing of it can
// ever drop. Its lines are refunded and back in stock. The caller has checked
// that it is open, under its lock.
func (v *vend) withdraw(ctx context.Context, cause string) error {
	for i := range v.order.Lines {
		l := &v.order.Lines[i]
		if err := v.learn(ctx, l, lineReport{result: reportWithdrawn}, order.LineFailed, cause); err != nil {
			return err
		}
		if err := v.refund(ctx, l, cause); err != nil {
			return err
		}
	}
	if err := v.giveBack(ctx, v.command.id); err != nil {
		return err
	}
	if err := v.l.payDebts(ctx, v.tx, v.b, v.order.Cabinet, v.command.id, v.back); err != nil {
		return err
	}
	return v.close(ctx, commandWithdrawn)
}

// withdrawable reports whether no cabinet can have heard of the command.
func (v *vend) withdrawable() bool {
	return v.command.status == commandOpen && v.command.offeredAt == 0
}
