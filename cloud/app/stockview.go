package app

import (
	"context"
	"fmt"

	"vendline/shared/wire"
)

// stockView is what a cabinet is told of its own stock.
type stockView struct{ *App }

func (v stockView) View(ctx context.Context, cabinet string) ([]wire.StockLine, *wire.Counted, error) {
	sellable, counted, err := v.Ledger.SellableCounting(ctx, cabinet)
	if err != nil {
		return nil, nil, fmt.Errorf("stock view: %w", err)
	}
	products, err := v.Ledger.Products(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("stock view: %w", err)
	}
	faults, err := v.Ledger.SlotFaults(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("stock view: %w", err)
	}
	suspended := map[string]bool{}
	for _, f := range faults {
		if f.Cabinet == cabinet {
			suspended[f.SKU] = true
		}
	}
	var lines []wire.StockLine
	for _, p := range products {
		n, ok := sellable[p.SKU]
		if !ok {
			continue
		}
		offer, ok, err := v.catalogue.Product(ctx, cabinet, p.SKU)
		if err != nil {
			return nil, nil, fmt.Errorf("stock view: %w", err)
		}
		if !ok { // it is in no slot any more
			continue
		}
		n = max(n, 0)
		line := wire.StockLine{SKU: p.SKU, Name: p.Name, Sellable: n, Price: offer.Price, Currency: offer.Currency}
		if !suspended[p.SKU] {
			line.Allowance = v.Config.allowance(n)
		}
		lines = append(lines, line)
	}
	return lines, &counted, nil
}

// allowance is how many of n sellable units a cabinet may sell on its own while
// it is offline: a quarter, so that what the cloud sells meanwhile is mostly there.
func (c Config) allowance(n int64) int64 {
	return min((n+3)/4, int64(max(c.Allowance, 0)))
}
