package deduct

import (
	"context"
	"fmt"

	"vendline/cloud/effect"
	"vendline/lua"
)

// Result is what became of one effect. Err is order.ErrNotLoaded while the
// cabinet is fenced, a *order.Refusal when no retry can help (the id belongs to
// something else), or says that the outcome is unknown: run it again under the
// same id and version.
type Result = effect.Result

// Release gives holds back, once each, and answers in order. An effect that an
// equal or newer version of its order overtook changes nothing and succeeds.
func (s *Stock) Release(ctx context.Context, effects []effect.Release) []Result {
	calls := make([]*call, len(effects))
	for i, e := range effects {
		k := lua.KeysOf(e.Cabinet, e.ID, e.User)
		keys := 4
		if e.User == "" {
			keys = 3
		}
		args := append(evalsha(nil, &s.lua.Rollback, keys), k.Stock, k.Mark, k.Resv)
		if e.User != "" {
			args = append(args, k.Limit)
		}
		args = append(args, e.ID, e.Version, s.ttl, e.User)
		for _, l := range sorted(e.Lines) {
			args = append(args, l.SKU, l.Qty)
		}
		calls[i] = &call{script: &s.lua.Rollback, args: args}
	}
	return s.results(ctx, calls, func(i int) string { return "release " + effects[i].ID })
}

// Adjust adds facts' units, once per fact id, and answers in order. Sellable
// may go below 0: what a cabinet sold on its own has happened.
func (s *Stock) Adjust(ctx context.Context, effects []effect.Adjust) []Result {
	calls := make([]*call, len(effects))
	for i, e := range effects {
		k := lua.KeysOf(e.Cabinet, e.ID, "")
		args := append(evalsha(nil, &s.lua.Adjust, 2), k.Stock, k.Mark, s.ttl)
		for _, d := range e.Deltas {
			args = append(args, d.SKU, d.Units)
		}
		calls[i] = &call{script: &s.lua.Adjust, args: args}
	}
	return s.results(ctx, calls, func(i int) string { return "adjust " + effects[i].ID })
}

// results runs calls in pipelines and turns their replies into results.
func (s *Stock) results(ctx context.Context, calls []*call, name func(i int) string) []Result {
	for from := 0; from < len(calls); from += s.opt.Pipeline {
		s.run(ctx, calls[from:min(from+s.opt.Pipeline, len(calls))])
	}
	out := make([]Result, len(calls))
	for i, c := range calls {
		err := c.err
		if err == nil {
			err = c.reply.refused()
		}
		if err != nil {
			out[i].Run.Generation = c.reply.generation // whose stock refused, if any did
			out[i].Err = fmt.Errorf("%s: %w", name(i), err)
			continue
		}
		out[i].Run = c.reply.run()
	}
	return out
}
