package deducttest

import (
	"vendline/lua"
)

// rawDeduct calls batch_deduct_stock with any text, past what the adapter would send.
func (f *Fixture) rawDeduct(id, version, user string, pairs ...string) (code int64, rest []any) {
	f.t.Helper()
	k := lua.KeysOf(f.Cabinet, id, user)
	args := []any{id, version, user, "1700000000000", "90000"}
	for _, p := range pairs {
		args = append(args, p)
	}
	return f.raw(f.scripts().Deduct, []string{k.Stock, k.Mark, k.Resv}, args...)
}

// raw runs a script as it is.
func (f *Fixture) raw(s lua.Script, keys []string, args ...any) (code int64, rest []any) {
	f.t.Helper()
	answer, err := f.Redis.Eval(f.t.Context(), s.Source, keys, args...).Slice()
	if err != nil {
		f.t.Fatalf("%s: %v", s.Name, err)
	}
	return answer[0].(int64), answer[2:]
}

func (f *Fixture) scripts() lua.Scripts {
	if f.Rig.Scripts != nil {
		return *f.Rig.Scripts
	}
	return lua.Embedded()
}
