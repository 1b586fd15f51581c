package ledger

import (
	"context"
	"fmt"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// Available returns a cabinet's available units by SKU: what there is to sell
// once all statements under way are applied, as far as stock knows them. Error:
// a *order.Refusal with CodeCabinetUnknown when there is no such cabinet.
func (l *Ledger) Available(ctx context.Context, cabinet string) (map[string]int64, error) {
	rows, err := l.Stock(ctx, cabinet)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		switch ok, err := l.hasCabinet(ctx, cabinet); {
		case err != nil:
			return nil, fmt.Errorf("ledger: look cabinet %s up: %w", cabinet, err)
		case !ok:
			return nil, &order.Refusal{Code: wire.CodeCabinetUnknown, Detail: "there is no cabinet " + cabinet}
		}
	}
	units := make(map[string]int64, len(rows))
	for _, r := range rows {
		units[r.SKU] = r.Available
	}
	return units, nil
}
