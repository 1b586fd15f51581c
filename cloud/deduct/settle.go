package deduct

import (
	"context"
	"errors"
	"fmt"

	"vendline/cloud/statement"
	"vendline/lua"
)

// Settled says that the ledger's deduct log knows an order at a version.
type Settled = statement.Settled

// Settle takes orders off the list that the orphan sweep reads, in one
// pipeline with one call per cabinet. A fenced cabinet is passed over: its
// rebuild lists anew. An order held again since under a newer version stays.
// An error costs nothing but work: the sweep looks at an order the log knows.
func (s *Stock) Settle(ctx context.Context, done []Settled) error {
	var calls []*call
	open := make(map[string]*call)
	for _, d := range done {
		c := open[d.Cabinet]
		if c == nil {
			k := lua.KeysOf(d.Cabinet, "", "")
			c = &call{script: &s.lua.Settle, args: append(evalsha(nil, &s.lua.Settle, 2), k.Stock, k.Resv)}
			calls, open[d.Cabinet] = append(calls, c), c
		}
		c.args = append(c.args, d.ID, d.Version)
		if len(c.args) >= 5+2*lua.MaxSettle {
			delete(open, d.Cabinet)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	s.run(ctx, calls)
	var errs []error
	for _, c := range calls {
		if c.err != nil {
			errs = append(errs, c.err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	return nil
}
