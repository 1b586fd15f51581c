package deducttest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"vendline/cloud/order"
	"vendline/lua"
)

// check compares one answer.
func (p *player) check(t *rapid.T, what string, heard refReply, generation string, err error, want refReply) {
	var no *order.Refusal
	switch {
	case errors.As(err, &no):
		heard = refReply{code: string(no.Code)}
	case err != nil:
		t.Fatalf("%s: %v", what, err)
	case generation != p.ref.generation:
		t.Fatalf("%s: ran under %q, want %q", what, generation, p.ref.generation)
	}
	if heard != want {
		t.Fatalf("%s: heard %+v, want %+v", what, heard, want)
	}
}

// compare compares the whole state.
func (p *player) compare(t *rapid.T) {
	v := p.f.look("o1", "o2", "o3", "f1", "f2")
	got := reference{generation: v.Generation, mut: v.Mutations, ticket: p.ref.ticket, stock: v.Sellable,
		marks: make(map[string]refMark), resv: make(map[string]int64), limits: p.limits(t)}
	for id, m := range v.Marks {
		got.marks[id] = refMark{m.State, m.Version, m.Ticket, m.User, m.Lines, p.ref.marks[id].counted}
	}
	for id, r := range v.Reserved {
		got.resv[id] = r.Version
	}
	want := p.ref
	want.limits = counted(want.limits)
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Fatalf("Redis holds\n%s, want\n%s", g, w)
	}
}

// limits reads the purchase limits of this generation.
func (p *player) limits(t *rapid.T) map[string]map[string]int {
	all := make(map[string]map[string]int)
	for _, user := range p.users {
		fields := p.f.Redis.HGetAll(t.Context(), lua.KeysOf(p.f.Cabinet, "", user).Limit).Val()
		if fields[lua.FieldGeneration] != p.ref.generation {
			continue
		}
		all[user] = make(map[string]int)
		for sku, n := range fields {
			if !strings.HasPrefix(sku, "#") {
				all[user][sku], _ = strconv.Atoi(n)
			}
		}
	}
	return counted(all)
}

// counted leaves out zeroes, which mean the same as nothing.
func counted(limits map[string]map[string]int) map[string]map[string]int {
	all := make(map[string]map[string]int)
	for _, user := range slices.Sorted(maps.Keys(limits)) {
		for sku, n := range limits[user] {
			if n == 0 {
				continue
			}
			if all[user] == nil {
				all[user] = make(map[string]int)
			}
			all[user][sku] = n
		}
	}
	return all
}
