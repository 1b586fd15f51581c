package drill

import "testing"

// checkerSees damages the real stores, a unit each, and looks again.
func (r *run) checkerSees(t *testing.T) {
	events, _ := r.book.Events()
	exec := func(query string) func() error {
		return func() error { _, err := r.site.db.ExecContext(t.Context(), query); return err }
	}
	c := r.site.Plan.Cabinets[0]
	for _, damage := range []struct {
		what, promise string
		do, undo      func() error
	}{
		{"a unit from nowhere", "opening stock and the deduct log in force explain every stock row",
			exec("UPDATE trade_sku_stock SET total = total + 1, available = available + 1 WHERE sku_id = 'sku-1' AND cabinet_id = '" + c + "'"),
			exec("UPDATE trade_sku_stock SET total = total - 1, available = available - 1 WHERE sku_id = 'sku-1' AND cabinet_id = '" + c + "'")},
		{"an order that is gone", "an order that was accepted by phone is in MySQL as accepted",
			exec("UPDATE trade_order SET user_id = CONCAT('x', user_id)"), exec("UPDATE trade_order SET user_id = SUBSTRING(user_id, 2)")},
		{"a unit more in Redis", "Redis sells what the ledger says, under the ledger's generation",
			func() error { return r.site.redis.HIncrBy(t.Context(), "stock:{"+c+"}", "sku-1", 1).Err() },
			func() error { return r.site.redis.HIncrBy(t.Context(), "stock:{"+c+"}", "sku-1", -1).Err() }},
	} {
		if err := damage.do(); err != nil {
			t.Fatal(err)
		}
		st, err := r.site.Read(t.Context(), events)
		if err != nil {
			t.Fatal(err)
		}
		if !breaks(Check(r.site.Plan, events, st), damage.promise) {
			t.Errorf("%s was not noticed", damage.what)
		}
		if err := damage.undo(); err != nil {
			t.Fatal(err)
		}
	}
}

func breaks(found []Finding, promise string) bool {
	for _, f := range found {
		if f.Promise == promise {
			return true
		}
	}
	return false
}
