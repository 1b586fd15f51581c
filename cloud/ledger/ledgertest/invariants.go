package ledgertest

// Invariants audits the tables, and checks that the ledger's own answer of what
// can be sold is the truth.
func (f *Fixture) Invariants() {
	f.t.Helper()
	wrong, err := Audit(f.ctx, f.DB, f.opening)
	f.ok(err)
	for _, w := range wrong {
		f.t.Error(w)
	}
	for _, d := range f.audited() {
		f.t.Errorf("the ledger's own audit finds %s", d)
	}
	for c, opening := range f.opening {
		want, err := Truth(f.ctx, f.DB, c, opening)
		f.ok(err)
		got, err := f.Sellable(f.ctx, c)
		f.ok(err)
		if !Same(got, want) {
			f.t.Errorf("%s: sellable is %v, the truth is %v", c, got, want)
		}
	}
}
