package deduct

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"vendline/cloud/order"
	"vendline/cloud/reconcile"
	"vendline/lua"
)

// Views implements reconcile.Stock.
func (s *Stock) Views(ctx context.Context, cabinets []string) (map[string]reconcile.View, error) {
	all, err := s.snapshots(ctx, cabinets)
	if err != nil {
		return nil, err
	}
	out := make(map[string]reconcile.View, len(all))
	for c, v := range all {
		out[c] = viewOf(v)
	}
	return out, nil
}

// snapshots reads many cabinets in one pipeline; one that is not loaded is missing.
func (s *Stock) snapshots(ctx context.Context, cabinets []string) (map[string]Snapshot, error) {
	calls := make([]*call, len(cabinets))
	for i, c := range cabinets {
		k := lua.KeysOf(c, "", "")
		calls[i] = &call{script: &s.lua.Snapshot, args: append(evalsha(nil, &s.lua.Snapshot, 2), k.Stock, k.Resv)}
	}
	if len(calls) > 0 {
		s.run(ctx, calls)
	}
	out := make(map[string]Snapshot, len(cabinets))
	for i, c := range calls {
		if c.err != nil {
			return nil, fmt.Errorf("view %s: %w", cabinets[i], c.err)
		}
		if c.reply.code != lua.Fenced {
			out[cabinets[i]] = snapshotOf(c.reply)
		}
	}
	return out, nil
}

func viewOf(v Snapshot) reconcile.View {
	return reconcile.View{Generation: v.Generation, Mutations: v.Mutations, Sellable: v.Sellable, Reserved: slices.Sorted(maps.Keys(v.Reserved))}
}

// MarksOf implements reconcile.Stock: one pipeline for all.
func (s *Stock) MarksOf(ctx context.Context, ids map[string][]string) (map[string]reconcile.Marks, error) {
	var calls []*call
	var of []string // the cabinet of each call
	var asked [][]string
	for _, cabinet := range slices.Sorted(maps.Keys(ids)) {
		chunks := slices.Collect(slices.Chunk(ids[cabinet], lua.MaxMarks))
		if len(chunks) == 0 {
			chunks = [][]string{nil}
		}
		for _, some := range chunks {
			args := append(evalsha(nil, &s.lua.Marks, 1+len(some)), lua.KeysOf(cabinet, "", "").Stock)
			for _, id := range some {
				args = append(args, lua.KeysOf(cabinet, id, "").Mark)
			}
			calls, of, asked = append(calls, &call{script: &s.lua.Marks, args: args}), append(of, cabinet), append(asked, some)
		}
	}
	if len(calls) > 0 {
		s.run(ctx, calls)
	}
	out, moved := make(map[string]reconcile.Marks, len(ids)), map[string]bool{}
	for i, c := range calls {
		if c.err != nil {
			return nil, fmt.Errorf("marks of %s: %w", of[i], c.err)
		}
		m, again := out[of[i]]
		if !again {
			m = reconcile.Marks{Generation: c.reply.generation, Mutations: c.reply.integer(0), ByID: map[string]reconcile.Mark{}}
		}
		if c.reply.code == lua.Fenced || m.Generation != c.reply.generation || m.Mutations != c.reply.integer(0) {
			moved[of[i]] = true
			continue
		}
		for j, id := range asked[i] {
			text := c.reply.text(1 + j)
			if text == "" {
				continue
			}
			d, err := decodeMark(text)
			if err != nil {
				return nil, err
			}
			m.ByID[id] = reconcile.Mark{Held: d.State == Held, Done: d.State == Done, Version: d.Version, Lines: d.Lines}
		}
		out[of[i]] = m
	}
	maps.DeleteFunc(out, func(c string, _ reconcile.Marks) bool { return moved[c] })
	return out, nil
}

// Mend implements reconcile.Stock.
func (s *Stock) Mend(ctx context.Context, r reconcile.Repair) error {
	err := s.Repair(ctx, Repair{ID: r.ID, Cabinet: r.Cabinet, Generation: r.Generation, Mutations: r.Mutations, Deltas: r.Deltas})
	if errors.Is(err, ErrMoved) || errors.Is(err, order.ErrNotLoaded) {
		return fmt.Errorf("%w: %w", reconcile.ErrMoved, err)
	}
	return err
}

// Freeze implements reconcile.Stock.
func (s *Stock) Freeze(ctx context.Context, cabinet, token string) (reconcile.View, bool, error) {
	k := lua.KeysOf(cabinet, "", "")
	r, err := s.one(ctx, &s.lua.Freeze, []string{k.Stock, k.Resv}, token)
	if err != nil {
		return reconcile.View{}, false, fmt.Errorf("freeze %s: %w", cabinet, err)
	}
	if r.code == lua.Fenced {
		return reconcile.View{}, false, nil
	}
	return viewOf(snapshotOf(r)), true, nil
}

// Thaw implements reconcile.Stock.
func (s *Stock) Thaw(ctx context.Context, cabinet, token string) error {
	r, err := s.one(ctx, &s.lua.Thaw, []string{lua.KeysOf(cabinet, "", "").Stock}, token)
	switch {
	case err != nil:
		return fmt.Errorf("thaw %s: %w", cabinet, err)
	case r.code == lua.Moved:
		return fmt.Errorf("thaw %s: %w", cabinet, reconcile.ErrMoved)
	}
	return r.refused()
}
