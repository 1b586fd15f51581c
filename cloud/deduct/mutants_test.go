package deduct_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"pgregory.net/rapid"

	"vendline/cloud/deduct/deducttest"
	"vendline/lua"
)

// mutant is a script with a bug planted in it.
type mutant struct {
	name     string
	script   func(*lua.Scripts) *lua.Script
	old, new string
	quiet    bool // the histories of the property cannot show it; the contract must
}

func deductOf(s *lua.Scripts) *lua.Script   { return &s.Deduct }
func rollbackOf(s *lua.Scripts) *lua.Script { return &s.Rollback }
func adjustOf(s *lua.Scripts) *lua.Script   { return &s.Adjust }
func settleOf(s *lua.Scripts) *lua.Script   { return &s.Settle }
func beginOf(s *lua.Scripts) *lua.Script    { return &s.LoadBegin }
func marksOf(s *lua.Scripts) *lua.Script    { return &s.LoadMarks }
func repairOf(s *lua.Scripts) *lua.Script   { return &s.Repair }

var mutants = []mutant{
	{name: "stock is checked before the marker", script: deductOf,
		old: "local mark = call('GET', KEYS[2])",
		new: "for i = 6, last, 2 do local units = have[i / 2 + 1] if units and tonumber(units) < tonumber(ARGV[i + 1]) then return {410, gen, ARGV[i], 1, 0} end end\nlocal mark = call('GET', KEYS[2])"},
	{name: "a retry takes twice", script: deductOf,
		old: "if state == 'held' then", new: "if false then"},
	{name: "the marker's version is not compared", script: deductOf,
		old: "if tonumber(mversion) >= tonumber(version)", new: "if tonumber(mversion) == tonumber(version)"},
	{name: "a marker of another generation counts", script: deductOf,
		old: "if mgen == gen then", new: "if mgen then"},
	{name: "two lines of one SKU pass one by one", script: deductOf, quiet: true,
		old: "if ARGV[j] == sku then", new: "if false then"},
	{name: "the limit of another generation counts", script: deductOf,
		old: "fresh = used[1] ~= gen", new: "fresh = not used[1]"},
	{name: "a retry under a newer version draws a ticket", script: deductOf,
		old: "call('HSET', KEYS[1], '#mut', mut)\n", new: "mticket = int('%d', have[3] + 1) call('HSET', KEYS[1], '#mut', mut, '#ticket', mticket)\n"},
	{name: "any quantity is taken", script: deductOf,
		old: "'^[1-9]%d?%d?$'", new: "'^-?%d+$'"},
	{name: "a rollback without a marker adds", script: rollbackOf,
		old: "call('HINCRBY', KEYS[1], '#mut', 1)", new: "if not mark then for i = 5, #ARGV, 2 do call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end end\ncall('HINCRBY', KEYS[1], '#mut', 1)"},
	{name: "a rollback gives back twice", script: rollbackOf,
		old: "if state == 'held' then", new: "if true then"},
	{name: "an old rollback is obeyed", script: rollbackOf,
		old: ">= tonumber(version)", new: "== tonumber(version)"},
	{name: "a rollback keeps the purchase limit", script: rollbackOf,
		old: "if back then", new: "if false then"},
	{name: "a rollback stays on the orphans' list", script: rollbackOf,
		old: "call('HDEL', KEYS[3], id)", new: ""},
	{name: "a fact counts twice", script: adjustOf,
		old: "return {409, gen, tonumber(ticket)}", new: ""},
	{name: "a settle is not counted", script: settleOf,
		old: "call('HINCRBY', KEYS[1], '#mut', 1)", new: ""},
	{name: "a settle takes newer holds off the list", script: settleOf,
		old: "tonumber(version) <= tonumber(ARGV[2 * i])", new: "true"},
	{name: "a load keeps the old list of orphans", script: beginOf,
		old: "call('UNLINK', KEYS[1], KEYS[2])", new: "call('UNLINK', KEYS[1])"},
	{name: "a load starts the counter again", script: beginOf,
		old: "old[2] and string.format('%d', old[2] + 1) or ARGV[3]", new: "ARGV[3]"},
	{name: "a chunk does not ask whose load it is", script: marksOf, quiet: true,
		old: "if call('HGET', KEYS[1], '#load') ~= ARGV[1]", new: "if false"},
	{name: "a repair does not compare", script: repairOf, quiet: true,
		old: "if gen ~= ARGV[1] or stock[2] ~= ARGV[2]", new: "if false"},
}

func (m mutant) rig(t *testing.T) deducttest.Rig {
	scripts := lua.Embedded()
	s := m.script(&scripts)
	if strings.Count(s.Source, m.old) != 1 {
		t.Fatalf("%s does not hold %q once", s.Name, m.old)
	}
	*s = lua.New(s.Name, strings.Replace(s.Source, m.old, m.new, 1))
	return deducttest.Rig{Addr: miniredis.RunT(t).Addr(), Scripts: &scripts}
}

func TestTheContractCatchesEveryPlantedBug(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			rig := m.rig(t)
			for _, p := range deducttest.Promises() {
				if said := watch(t, func(r *recorder) { p.Check(r, deducttest.NewFixture(r, rig)) }); said != "" {
					t.Logf("%s: %s", p.Name, said)
					return
				}
			}
			t.Error("no promise was seen broken")
		})
	}
}

func TestThePropertyCatchesEveryPlantedBugOfAHistory(t *testing.T) {
	set(t, "rapid.nofailfile", "true") // these failures are wanted
	set(t, "rapid.shrinktime", "0s")
	set(t, "rapid.checks", "1000") // each ends with its first failure
	set(t, "rapid.steps", "100")
	for _, m := range mutants {
		if m.quiet {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			rig := m.rig(t)
			said := watch(t, func(r *recorder) { rapid.Check(r, deducttest.Property(deducttest.NewFixture(r, rig))) })
			if said == "" {
				t.Error("no history was seen to differ")
			}
		})
	}
}

// set sets a flag for the length of a test.
func set(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	old := f.Value.String()
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(old) })
}
