package deduct

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vendline/lua"
)

// Snapshot is a cabinet's stock in Redis as of one instant.
type Snapshot struct {
	Generation string
	Mutations  int64 // raised by every script run that changed anything
	Sellable   map[string]int64
	Reserved   map[string]Reserved // by order id
	Marks      map[string]Mark     // of Reserved and of the ids asked for; an id without one is missing
}

// snapshotTries bounds how often a snapshot chases a stock that keeps changing.
const snapshotTries = 3

// Snapshot reads a cabinet's stock with the markers of all reserved ids and of
// ids, all of one instant. Errors: order.ErrNotLoaded; ErrMoved if the stock
// never stood still.
func (s *Stock) Snapshot(ctx context.Context, cabinet string, ids ...string) (Snapshot, error) {
	err := ErrMoved
	for try := 0; try < snapshotTries && errors.Is(err, ErrMoved); try++ {
		var v Snapshot
		if v, err = s.still(ctx, cabinet, ids); err == nil {
			return v, nil
		}
	}
	return Snapshot{}, fmt.Errorf("snapshot of %s: %w", cabinet, err)
}

// still is one try: the markers must have been read under the counter that the
// stock was read under.
func (s *Stock) still(ctx context.Context, cabinet string, ids []string) (Snapshot, error) {
	v, err := s.view(ctx, cabinet)
	if err != nil {
		return v, err
	}
	wanted := make(map[string]struct{}, len(ids)+len(v.Reserved))
	for _, id := range ids {
		wanted[id] = struct{}{}
	}
	for id := range v.Reserved {
		wanted[id] = struct{}{}
	}
	answers, err := s.marks(ctx, cabinet, slices.Sorted(maps.Keys(wanted)))
	if err != nil {
		return v, err
	}
	v.Marks = make(map[string]Mark)
	for _, a := range answers {
		if a.generation != v.Generation || a.mutations != v.Mutations {
			return v, ErrMoved
		}
		maps.Copy(v.Marks, a.marks)
	}
	return v, nil
}

// view reads stock and resv, without markers.
func (s *Stock) view(ctx context.Context, cabinet string) (Snapshot, error) {
	k := lua.KeysOf(cabinet, "", "")
	r, err := s.one(ctx, &s.lua.Snapshot, []string{k.Stock, k.Resv})
	if err == nil {
		err = r.refused()
	}
	if err != nil {
		return Snapshot{}, err
	}
	return snapshotOf(r), nil
}

// snapshotOf reads the answer of snapshot and freeze.
func snapshotOf(r reply) Snapshot {
	v := Snapshot{Generation: r.generation, Mutations: r.integer(0), Sellable: make(map[string]int64), Reserved: make(map[string]Reserved)}
	fields := reply{rest: r.list(1)}
	for i := 0; i+1 < len(fields.rest); i += 2 {
		if sku := fields.text(i); !strings.HasPrefix(sku, "#") {
			v.Sellable[sku] = fields.integer(i + 1)
		}
	}
	resv := reply{rest: r.list(2)}
	for i := 0; i+1 < len(resv.rest); i += 2 {
		v.Reserved[resv.text(i)] = reserved(resv.text(i + 1))
	}
	return v
}

// marked is one chunk of markers, and when it was read.
type marked struct {
	generation string
	mutations  int64
	marks      map[string]Mark
}

func (s *Stock) marks(ctx context.Context, cabinet string, ids []string) ([]marked, error) {
	var calls []*call
	for some := range slices.Chunk(ids, lua.MaxMarks) {
		args := append(evalsha(nil, &s.lua.Marks, 1+len(some)), lua.KeysOf(cabinet, "", "").Stock)
		for _, id := range some {
			args = append(args, lua.KeysOf(cabinet, id, "").Mark)
		}
		calls = append(calls, &call{script: &s.lua.Marks, args: args})
	}
	answers := make([]marked, len(calls))
	if len(calls) > 0 {
		s.run(ctx, calls)
	}
	for i, c := range calls {
		err := c.err
		if err == nil {
			err = c.reply.refused()
		}
		if err != nil {
			return nil, err
		}
		answers[i] = marked{generation: c.reply.generation, mutations: c.reply.integer(0), marks: make(map[string]Mark)}
		for j, id := range ids[i*lua.MaxMarks : min((i+1)*lua.MaxMarks, len(ids))] {
			text := c.reply.text(1 + j)
			if text == "" {
				continue
			}
			m, err := decodeMark(text)
			if err != nil {
				return nil, err
			}
			answers[i].marks[id] = m
		}
	}
	return answers, nil
}
