package ledgertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

func searches() []promise {
	return []promise{
		{"orders are found by cabinet, shopper and state, newest first", searchOrders},
		{"where an order's money is, is told of many at once", standings},
		{"open cases are counted, and a closed one is not", casesCounted},
	}
}

func searchOrders(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 9})
	place := func(c, user string) string {
		f.Pass(time.Second)
		o := f.orderAt(c, line("cola", 1))
		o.User = user
		f.ok(f.Place(f.ctx, f.placement(o)))
		return o.ID
	}
	a, b, c := place(cabinet, "ann"), place("C2", "ann"), place(cabinet, "bob")
	f.move(b, order.PaySuccess)
	for _, w := range []struct {
		cabinet, user string
		status        order.Status
		n             int
		want          []string
	}{
		{"", "", "", 9, []string{c, b, a}}, {"", "", "", 2, []string{c, b}}, {cabinet, "", "", 9, []string{c, a}},
		{"", "ann", "", 9, []string{b, a}}, {cabinet, "ann", "", 9, []string{a}}, {"", "", order.Consumed, 9, []string{b}},
		{"C2", "", order.PreReserved, 9, nil}, {"", "nobody", "", 9, nil},
	} {
		found, err := f.Search(f.ctx, w.cabinet, w.user, w.status, w.n)
		f.ok(err)
		var got []string
		for _, o := range found {
			got = append(got, o.ID)
			if len(o.Lines) != 1 {
				t.Errorf("%s has %d lines", o.ID, len(o.Lines))
			}
		}
		if !slices.Equal(got, w.want) {
			t.Errorf("%q %q %q: %v, want %v", w.cabinet, w.user, w.status, got, w.want)
		}
	}
	if found, err := f.OrdersByID(f.ctx, a, f.ID(), c); err != nil || len(found) != 2 {
		t.Errorf("by id: %v (%v)", found, err)
	}
	f.settleAll()
}

func standings(t *testing.T, f *Fixture) {
	unpaid, paid, back := f.place(line("cola", 1)), f.paid(line("cola", 1)), f.paid(line("cola", 1))
	f.offer()
	f.report(back, wire.DispenseLine{SKU: "cola", State: wire.Failed})
	got, err := f.Standings(f.ctx, unpaid.ID, paid.ID, back.ID)
	f.ok(err)
	if want := (map[string]string{paid.ID: "paid", back.ID: "refunding"}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for id, s := range got {
		a, err := f.Account(f.ctx, id)
		f.ok(err)
		if a.Standing() != s {
			t.Errorf("%s: %s among many, %s alone", id, s, a.Standing())
		}
	}
	f.settleAll()
}

func casesCounted(t *testing.T, f *Fixture) {
	for i := range 3 {
		f.ok(f.OpenCase(f.ctx, order.Case{Kind: order.CaseShortage, Subject: fmt.Sprint(i), Cabinet: cabinet}))
	}
	cases, err := f.Cases(f.ctx, false, 9)
	f.ok(err)
	f.ok(f.CloseCase(f.ctx, cases[0].ID, "looked at"))
	if n, err := f.CountCases(f.ctx); err != nil || n != 2 {
		t.Errorf("%d open (%v)", n, err)
	}
}
