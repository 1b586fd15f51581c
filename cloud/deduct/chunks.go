package deduct

import (
	"maps"
	"slices"
	"strconv"

	"vendline/cloud/fence"
	"vendline/lua"
)

// loading cuts a snapshot into script calls that are each over within a few
// milliseconds.
type loading struct {
	s     *Stock
	snap  fence.Snapshot
	keys  lua.Keys
	token string
}

func (l *loading) chunks() []*call {
	windows := l.windows()
	return slices.Concat(l.stock(), l.marks(windows), l.limits(windows))
}

// call begins a chunk: the stock key, more keys, then this load's token and generation.
func (l *loading) call(script *lua.Script, keys []any) *call {
	args := append(evalsha(nil, script, 1+len(keys)), l.keys.Stock)
	args = append(args, keys...)
	return &call{script: script, args: append(args, l.token, l.snap.Generation)}
}

func (l *loading) stock() (calls []*call) {
	for skus := range slices.Chunk(slices.Sorted(maps.Keys(l.snap.Sellable)), lua.MaxStock) {
		c := l.call(&l.s.lua.LoadStock, nil)
		for _, sku := range skus {
			c.args = append(c.args, sku, l.snap.Sellable[sku])
		}
		calls = append(calls, c)
	}
	return calls
}

// marks writes the markers of orders, and "done" for each fact that Sellable
// counts though its effect is still pending.
func (l *loading) marks(windows map[string]*window) (calls []*call) {
	type entry struct{ id, text, resv string }
	entries := make([]entry, 0, len(l.snap.Marks)+len(l.snap.Done))
	for _, m := range l.snap.Marks {
		e := entry{id: m.ID}
		mark := Mark{State: Released, Version: m.Version, User: m.User, Lines: m.Lines}
		if m.Held {
			mark.State = Held
			if m.Unknown {
				e.resv = strconv.FormatInt(m.Version, 10) + ":" + strconv.FormatInt(m.At, 10)
			}
			if counts(m) {
				mark.window = windows[m.User].stamp()
			}
		}
		e.text = mark.encode(l.snap.Generation)
		entries = append(entries, e)
	}
	for _, id := range l.snap.Done {
		entries = append(entries, entry{id: id, text: Mark{State: Done, Version: 1}.encode(l.snap.Generation)})
	}
	for some := range slices.Chunk(entries, lua.MaxMarks) {
		keys := []any{l.keys.Resv}
		for _, e := range some {
			keys = append(keys, lua.KeysOf(l.snap.Cabinet, e.id, "").Mark)
		}
		c := l.call(&l.s.lua.LoadMarks, keys)
		c.args = append(c.args, l.s.ttl)
		for _, e := range some {
			c.args = append(c.args, e.id, e.text, e.resv)
		}
		calls = append(calls, c)
	}
	return calls
}
