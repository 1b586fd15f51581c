package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"vendline/cloud/audit"
)

const dayMS = int64(24 * time.Hour / time.Millisecond)

type dayKey struct {
	day      int64
	currency string
}

// days adds up what was ordered and paid by the day of the order, from orders,
// payments and refunds, and holds that against the movements of the same orders.
// Only whole days after since are added up.
func (a *auditor) days(ctx context.Context) error {
	from := (a.since.UnixMilli() + dayMS - 1) / dayMS * dayMS
	all := map[dayKey]*audit.Day{}
	moved := map[dayKey]*audit.Day{}
	for _, part := range []struct {
		query string
		add   func(k dayKey, a, b, c int64)
	}{
		{`SELECT {day}, o.currency, COUNT(*), SUM(CASE o.status WHEN 'CONSUMED' THEN 1 ELSE 0 END), 0 FROM trade_order o WHERE o.created_at >= ? AND o.status <> 'INIT' GROUP BY 1, 2 ORDER BY 1, 2`,
			func(k dayKey, n, consumed, _ int64) {
				all[k] = &audit.Day{Day: ms(k.day), Currency: k.currency, Orders: n, Consumed: consumed}
			}},
		{`SELECT {day}, o.currency, SUM(l.qty), 0, 0 FROM trade_order o JOIN trade_order_line l ON l.order_sn = o.order_sn WHERE o.created_at >= ? AND o.status <> 'INIT' GROUP BY 1, 2`,
			func(k dayKey, units, _, _ int64) { of(all, k).Units = units }},
		{`SELECT {day}, p.currency, SUM(p.amount), 0, 0 FROM trade_order o JOIN trade_payment p ON p.order_sn = o.order_sn WHERE o.created_at >= ? AND p.status IN ('paid', 'surplus') GROUP BY 1, 2`,
			func(k dayKey, in, _, _ int64) { of(all, k).Captured = in }},
		{`SELECT {day}, r.currency, SUM(r.amount), 0, 0 FROM trade_order o JOIN trade_refund r ON r.order_sn = o.order_sn WHERE o.created_at >= ? AND r.status = 'done' GROUP BY 1, 2`,
			func(k dayKey, back, _, _ int64) { of(all, k).Refunded = back }},
		{`SELECT {day}, m.currency, SUM(CASE m.kind WHEN 'captured' THEN m.amount ELSE 0 END), SUM(CASE m.kind WHEN 'refunded' THEN m.amount ELSE 0 END), 0
			FROM trade_order o JOIN money_movement m ON m.order_sn = o.order_sn WHERE o.created_at >= ? GROUP BY 1, 2`,
			func(k dayKey, in, back, _ int64) { d := of(moved, k); d.Captured, d.Refunded = in, back }},
	} {
		err := eachRow(ctx, a.tx, strings.Replace(part.query, "{day}", "o.created_at - o.created_at % 86400000", 1), []any{from}, func(rows *sql.Rows) (bool, error) {
			var k dayKey
			var n [3]int64
			err := rows.Scan(&k.day, &k.currency, &n[0], &n[1], &n[2])
			if err == nil {
				part.add(k, n[0], n[1], n[2])
			}
			return true, err
		})
		if err != nil {
			return fmt.Errorf("totals of days: %w", err)
		}
	}
	said := 0
	for k := range moved {
		of(all, k) // booked, and nothing was paid
	}
	for _, k := range sortedDays(all) {
		d, m := all[k], of(moved, k)
		a.found.Days = append(a.found.Days, *d)
		if d.Captured != m.Captured || d.Refunded != m.Refunded {
			a.say(&said, audit.Difference{Rule: "day_money", Subject: d.Day.Format(time.DateOnly) + "/" + k.currency,
				Detail: fmt.Sprintf("orders captured %d and gave back %d, the movements say %d and %d", d.Captured, d.Refunded, m.Captured, m.Refunded)})
		}
	}
	return nil
}

func of(all map[dayKey]*audit.Day, k dayKey) *audit.Day {
	d := all[k]
	if d == nil {
		d = &audit.Day{Day: ms(k.day), Currency: k.currency}
		all[k] = d
	}
	return d
}

func sortedDays(all map[dayKey]*audit.Day) []dayKey {
	return slices.SortedFunc(maps.Keys(all), func(a, b dayKey) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.currency, b.currency))
	})
}

// keepDays puts new totals in the place of those of the last audit, one day at a
// time: two audits at once leave one of both.
func (l *Ledger) keepDays(ctx context.Context, days []audit.Day) error {
	for some := range slices.Chunk(days, 100) {
		err := l.inTx(ctx, l.dialect.commit, func(tx *sql.Tx) error {
			for _, d := range some {
				if _, err := tx.ExecContext(ctx, "DELETE FROM day_total WHERE day = ? AND currency = ?", d.Day.UnixMilli(), d.Currency); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, l.dialect.insertNew+"day_total (day, currency, orders, units, consumed, captured, refunded, audited_at) VALUES (?,?,?,?,?,?,?,?)",
					d.Day.UnixMilli(), d.Currency, d.Orders, d.Units, d.Consumed, d.Captured, d.Refunded, l.now())
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Days returns up to n days' totals as the last audit found them, newest first.
func (l *Ledger) Days(ctx context.Context, n int) (out []audit.Day, err error) {
	err = eachRow(ctx, l.read, "SELECT day, currency, orders, units, consumed, captured, refunded, audited_at FROM day_total ORDER BY day DESC, currency LIMIT "+itoa(n), nil, func(rows *sql.Rows) (bool, error) {
		var d audit.Day
		var day, at int64
		err := rows.Scan(&day, &d.Currency, &d.Orders, &d.Units, &d.Consumed, &d.Captured, &d.Refunded, &at)
		d.Day, d.At = ms(day), ms(at)
		out = append(out, d)
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: read days' totals: %w", err)
	}
	return out, nil
}
