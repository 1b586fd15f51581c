package deduct

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"vendline/cloud/fence"
	"vendline/lua"
)

const day = 24 * time.Hour

// window is one shopper's purchase limit: 24 hours that began with the oldest
// order that counts, and the units of all that count.
type window struct {
	since int64 // Unix ms
	units map[string]int
}

func (w *window) stamp() string { return strconv.FormatInt(w.since, 10) }

// secondsLeft of the 24 hours at a time, at least one: a limit key without an
// end would count for ever.
func (w *window) secondsLeft(at int64) int64 {
	return max(1, (w.since+day.Milliseconds()-at)/1000)
}

// counts reports whether an order counts towards its shopper's limit.
func counts(m fence.Mark) bool { return m.Held && m.Limited && m.User != "" }

// windows gathers the limits by user.
func (l *loading) windows() map[string]*window {
	byUser := make(map[string]*window)
	for _, m := range l.snap.Marks {
		if !counts(m) {
			continue
		}
		w := byUser[m.User]
		if w == nil {
			w = &window{since: m.At, units: make(map[string]int)}
			byUser[m.User] = w
		}
		w.since = min(w.since, m.At)
		for _, line := range m.Lines {
			w.units[line.SKU] += line.Qty
		}
	}
	return byUser
}

func (l *loading) limits(byUser map[string]*window) (calls []*call) {
	for users := range slices.Chunk(slices.Sorted(maps.Keys(byUser)), lua.MaxMarks) {
		var keys []any
		for _, user := range users {
			keys = append(keys, lua.KeysOf(l.snap.Cabinet, "", user).Limit)
		}
		c := l.call(&l.s.lua.LoadLimits, keys)
		for _, user := range users {
			w := byUser[user]
			c.args = append(c.args, w.since, w.secondsLeft(l.snap.At), len(w.units))
			for _, sku := range slices.Sorted(maps.Keys(w.units)) {
				c.args = append(c.args, sku, w.units[sku])
			}
		}
		calls = append(calls, c)
	}
	return calls
}
