package ledgertest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
)

func replaced() []promise {
	return []promise{
		{"a shopper's next order at a cabinet names the hold it replaces", replaceOwn},
		{"a shopper has so many holds, and the oldest give way", replaceOldest},
		{"of a shopper's orders in one commit group the newest stays", replaceGroup},
		{"paid, ended and overdue orders are nobody's holds", replaceNone},
		{"a shopper's holds at a cabinet come newest first", holdsOf},
	}
}

// withHolds is a ledger whose shoppers may have n holds.
func (f *Fixture) withHolds(n int) *ledger.Ledger {
	return f.Open(func(o *ledger.Options) { o.Holds = n })
}

// placeBy places an order of user at c through l.
func (f *Fixture) placeBy(l *ledger.Ledger, user, c string) order.Order {
	f.t.Helper()
	f.Pass(time.Second)
	o := f.orderAt(c, line("cola", 1))
	o.User = user
	f.ok(l.Place(f.ctx, f.placement(o)))
	return o
}

// wantReplaced wants the replace rows to name ids, and removes them.
func (f *Fixture) wantReplaced(ids ...string) {
	f.t.Helper()
	var got []string
	for _, r := range f.rows(outbox.KindReplace) {
		var what outbox.Replace
		f.ok(json.Unmarshal(r.Payload, &what))
		got = append(got, what.IDs...)
		f.ok(f.Delete(f.ctx, r.ID))
	}
	slices.Sort(got)
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		f.t.Errorf("replaced are %v, want %v", got, ids)
	}
}

func replaceOwn(_ *testing.T, f *Fixture) {
	l := f.withHolds(5)
	f.AddStock("C2", map[string]int64{"cola": 5})
	first := f.placeBy(l, "bob", cabinet)
	f.placeBy(l, "cid", cabinet)
	f.placeBy(l, "bob", "C2")
	f.wantReplaced()
	f.placeBy(l, "bob", cabinet)
	f.wantReplaced(first.ID)
	f.settleAll()
}

func replaceOldest(_ *testing.T, f *Fixture) {
	l := f.withHolds(2)
	f.AddStock("C2", map[string]int64{"cola": 5})
	f.AddStock("C3", map[string]int64{"cola": 5})
	first := f.placeBy(l, "bob", cabinet)
	f.placeBy(l, "bob", "C2")
	f.wantReplaced()
	f.placeBy(l, "bob", "C3")
	f.wantReplaced(first.ID)
	f.settleAll()
}

func replaceGroup(t *testing.T, f *Fixture) {
	l := f.withHolds(5)
	placed := make(chan order.Order, 8)
	for range cap(placed) {
		f.Pass(time.Millisecond)
		o := f.order(line("cola", 1))
		go func() {
			if err := l.Place(f.ctx, f.placement(o)); err != nil {
				t.Error(err)
			}
			placed <- o
		}()
	}
	var newest order.Order
	for range cap(placed) {
		if o := <-placed; o.CreatedAt.After(newest.CreatedAt) {
			newest = o
		}
	}
	named := map[string]bool{}
	for _, r := range f.rows(outbox.KindReplace) {
		var what outbox.Replace
		f.ok(json.Unmarshal(r.Payload, &what))
		for _, id := range what.IDs {
			named[id] = true
		}
		f.ok(f.Delete(f.ctx, r.ID))
	}
	// Groups commit in any order, so a newer order may meet an older one that
	// comes later; between them they name all but the newest.
	if len(named) != cap(placed)-1 || named[newest.ID] {
		t.Errorf("%d of %d give way, the newest among them: %v", len(named), cap(placed), named[newest.ID])
	}
	f.settleAll()
}

func replaceNone(_ *testing.T, f *Fixture) {
	l := f.withHolds(5)
	paid, ended := f.placeBy(l, "bob", cabinet), f.placeBy(l, "cid", cabinet)
	f.move(paid.ID, order.PaySuccess)
	f.move(ended.ID, order.Timeout)
	f.placeBy(l, "bob", cabinet)
	f.placeBy(l, "cid", cabinet)
	f.placeBy(l, "dan", cabinet)
	f.Pass(time.Hour)
	f.placeBy(l, "dan", cabinet)
	f.wantReplaced()
	f.settleAll()
}

func holdsOf(t *testing.T, f *Fixture) {
	l := f.withHolds(5)
	f.AddStock("C2", map[string]int64{"cola": 5})
	first := f.placeBy(l, "bob", cabinet)
	f.placeBy(l, "bob", "C2")
	second := f.placeBy(l, "bob", cabinet)
	got, err := l.Holds(f.ctx, "bob", cabinet)
	f.ok(err)
	if len(got) != 2 || got[0].ID != second.ID || got[1].ID != first.ID || len(got[0].Lines) != 1 {
		t.Errorf("got %+v", got)
	}
	if got, err := f.Holds(f.ctx, "bob", cabinet); len(got) != 0 || err != nil {
		t.Errorf("where none is replaced: %v, %v", got, err)
	}
	f.wantReplaced(first.ID)
	f.settleAll()
}
