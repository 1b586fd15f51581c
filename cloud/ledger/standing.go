package ledger

import (
	"context"
	"fmt"

	"vendline/cloud/payment"
	"vendline/shared/money"
)

// Standings says in one word where the money of each of some orders is; see
// payment.Account. An order to which no money came is missing.
func (l *Ledger) Standings(ctx context.Context, ids ...string) (map[string]string, error) {
	out := map[string]string{}
	if len(ids) == 0 {
		return out, nil
	}
	accounts := map[string]payment.Account{}
	rows, err := l.read.QueryContext(ctx, "SELECT order_sn, kind, ref, amount, currency FROM money_movement WHERE order_sn IN ("+marks(len(ids))+")", anys(ids)...)
	if err != nil {
		return nil, fmt.Errorf("ledger: read standings: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var m money.Movement
		if err := rows.Scan(&id, &m.Kind, &m.Ref, &m.Minor, &m.Currency); err != nil {
			return nil, fmt.Errorf("ledger: read standings: %w", err)
		}
		a := accounts[id]
		a.Movements = append(a.Movements, m)
		accounts[id] = a
	}
	if err := rows.Err(); err != nil || len(accounts) == 0 {
		return out, err
	}
	back, err := returns(ctx, l.read, selectReturn+" WHERE order_sn IN ("+marks(len(ids))+")", anys(ids)...)
	if err != nil {
		return nil, fmt.Errorf("ledger: read standings: %w", err)
	}
	for _, r := range back {
		a := accounts[r.Order]
		a.Returns = append(a.Returns, r)
		accounts[r.Order] = a
	}
	for id, a := range accounts {
		if s := a.Standing(); s != "" {
			out[id] = s
		}
	}
	return out, nil
}
