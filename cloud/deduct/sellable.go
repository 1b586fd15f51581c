package deduct

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"vendline/cloud/order"
	"vendline/lua"
)

// Sellable returns a cabinet's units by SKU; below 0 where the shelves owe.
// Error: order.ErrNotLoaded.
func (s *Stock) Sellable(ctx context.Context, cabinet string) (map[string]int64, error) {
	all, err := s.SellableMany(ctx, []string{cabinet})
	if err != nil {
		return nil, err
	}
	units, ok := all[cabinet]
	if !ok {
		return nil, fmt.Errorf("sellable of %s: %w", cabinet, order.ErrNotLoaded)
	}
	return units, nil
}

// SellableMany reads many cabinets in one pipeline. One that is not loaded is
// missing from the answer: unknown is not 0.
func (s *Stock) SellableMany(ctx context.Context, cabinets []string) (map[string]map[string]int64, error) {
	pipe := s.rdb.Pipeline()
	cmds := make([]*redis.MapStringStringCmd, len(cabinets))
	for i, c := range cabinets {
		cmds[i] = pipe.HGetAll(ctx, lua.KeysOf(c, "", "").Stock)
	}
	if len(cabinets) > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, fmt.Errorf("deduct: read stock: %w", err)
		}
	}
	all := make(map[string]map[string]int64, len(cabinets))
	for i, c := range cabinets {
		fields := cmds[i].Val()
		if fields[lua.FieldGeneration] == "" {
			continue
		}
		units := make(map[string]int64, len(fields))
		for sku, text := range fields {
			if strings.HasPrefix(sku, "#") {
				continue
			}
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("deduct: stock of %s in %s: %w", sku, c, err)
			}
			units[sku] = n
		}
		all[c] = units
	}
	return all, nil
}
