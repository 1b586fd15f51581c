package deduct

import (
	"context"
	"fmt"

	"vendline/cloud/effect"
	"vendline/lua"
)

// Repair adds units that reconciliation found missing (or takes those too
// many) from a cabinet that has not changed since it looked.
type Repair struct {
	ID         string // names the finding; it is applied once
	Cabinet    string
	Generation string // as the finding's Snapshot had it
	Mutations  int64  // as the finding's Snapshot had it
	Deltas     []effect.Delta
}

// Repair carries out a repair. Errors: order.ErrNotLoaded; ErrMoved when the
// stock has changed since, so that the finding no longer stands.
func (s *Stock) Repair(ctx context.Context, r Repair) error {
	k := lua.KeysOf(r.Cabinet, r.ID, "")
	args := []any{r.Generation, r.Mutations, s.ttl}
	for _, d := range r.Deltas {
		args = append(args, d.SKU, d.Units)
	}
	answer, err := s.one(ctx, &s.lua.Repair, []string{k.Stock, k.Mark}, args...)
	if err == nil {
		err = answer.refused()
	}
	if err != nil {
		return fmt.Errorf("repair %s of %s: %w", r.ID, r.Cabinet, err)
	}
	return nil
}
