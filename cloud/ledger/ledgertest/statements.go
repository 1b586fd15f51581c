package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func statements() []promise {
	return []promise{
		{"what is applied leaves the outbox, in the same transaction", applyDeletes},
		{"a duplicate changes nothing", applyTwice},
		{"a release may come before its deduct", releaseFirst},
		{"a payment may come before its deduct", paymentFirst},
		{"a retry after a rollback counts again", retryAfterRollback},
		{"any order and grouping of statements ends the same", anyOrder},
		{"many rows move in one statement, each by its own amount", manyRows},
		{"units that are not locked cannot be given back", exactRows},
		{"a release in a batch pays for a deduct in it", releasePays},
	}
}

// told returns the messages that came about since the last call.
func (f *Fixture) told(do func()) []statement.Message {
	f.t.Helper()
	before := f.messages()
	do()
	return slices.DeleteFunc(f.messages(), func(m statement.Message) bool {
		return slices.ContainsFunc(before, func(b statement.Message) bool { return b.Row == m.Row })
	})
}

// life is an order's messages: held, rolled back, held again, paid.
func (f *Fixture) life(lines ...order.Line) (held, rolled, again, paid statement.Message) {
	f.t.Helper()
	var o order.Order
	held = f.told(func() { o = f.place(lines...) })[0]
	rolled = f.told(func() { f.move(o.ID, order.Timeout) })[0]
	again = f.told(func() { f.move(o.ID, order.RetryDeduct) })[0]
	paid = f.told(func() { f.move(o.ID, order.PaySuccess) })[0]
	return held, rolled, again, paid
}

func applyDeletes(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 3))
	a := f.apply(f.messages()...)
	if len(a.Known) != 1 || a.Known[0].ID != o.ID || len(a.Waiting) != 0 || a.Dead != 0 {
		t.Errorf("got %+v", a)
	}
	f.wantStock("cola", 7, 3, 0)
	f.wantBacklog(outbox.KindStock, 0)
}

func applyTwice(t *testing.T, f *Fixture) {
	f.place(line("cola", 3))
	msgs := f.messages()
	version := f.stock("cola").Version
	f.apply(msgs[0], msgs[0])
	a := f.apply(msgs...)
	if len(a.Known) != 1 {
		t.Errorf("a duplicate is not known: %+v", a)
	}
	f.wantStock("cola", 7, 3, 0)
	if got := f.stock("cola").Version; got != version+1 {
		t.Errorf("the row was written %d times", got-version)
	}
}

func releaseFirst(t *testing.T, f *Fixture) {
	var o order.Order
	held := f.told(func() { o = f.place(line("cola", 3)) })
	rolled := f.told(func() { f.move(o.ID, order.Timeout) })
	f.apply(rolled...)
	f.wantStock("cola", 10, 0, 0)
	f.apply(held...)
	f.wantStock("cola", 10, 0, 0)
}

func paymentFirst(t *testing.T, f *Fixture) {
	var o order.Order
	held := f.told(func() { o = f.place(line("cola", 3)) })
	paid := f.told(func() { f.move(o.ID, order.PaySuccess) })
	f.apply(paid...)
	f.wantStock("cola", 7, 0, 3)
	f.apply(held...)
	f.wantStock("cola", 7, 0, 3)
}

func retryAfterRollback(t *testing.T, f *Fixture) {
	held, rolled, again, paid := f.life(line("cola", 3))
	for _, step := range []struct {
		m                       statement.Message
		available, locked, sold int64
	}{{held, 7, 3, 0}, {rolled, 10, 0, 0}, {again, 7, 3, 0}, {paid, 7, 0, 3}} {
		f.apply(step.m)
		f.wantStock("cola", step.available, step.locked, step.sold)
	}
}

// anyOrder walks all 24 orders of an order's four messages, in batches of one,
// two, three and four, with duplicates.
func anyOrder(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 1000})
	n := int64(0)
	for _, p := range permutations(4) {
		for size := 1; size <= 4; size++ {
			var o order.Order
			var msgs []statement.Message
			for _, step := range []func(){
				func() { o = f.orderAt("C2", line("cola", 2)); f.ok(f.Place(f.ctx, f.placement(o))) },
				func() { f.move(o.ID, order.Timeout) }, func() { f.move(o.ID, order.RetryDeduct) }, func() { f.move(o.ID, order.PaySuccess) },
			} {
				msgs = append(msgs, f.told(step)...)
			}
			var sent []statement.Message
			for _, i := range p {
				sent = append(sent, msgs[i], msgs[p[0]])
			}
			for part := range slices.Chunk(sent, size) {
				f.apply(part...)
			}
			n += 2
			rows, err := f.Stock(f.ctx, "C2")
			f.ok(err)
			if r := rows[0]; r.Sold != n || r.Locked != 0 {
				t.Fatalf("order %v in batches of %d: %+v, want %d sold", p, size, r, n)
			}
		}
	}
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for at := range n {
			out = append(out, slices.Insert(slices.Clone(p), at, n-1))
		}
	}
	return out
}

func manyRows(t *testing.T, f *Fixture) {
	var msgs []statement.Message
	want := map[string]int64{}
	for c := range 20 {
		name, opening := fmt.Sprint("M", c), map[string]int64{}
		for s := range 30 {
			opening[fmt.Sprint("sku", s)] = 100
		}
		f.AddStock(name, opening)
		for o := range 3 {
			var lines []order.Line
			for s := range 30 {
				lines = append(lines, line(fmt.Sprint("sku", s), 1+(c+s+o)%5))
				want[fmt.Sprint(name, "/sku", s)] += int64(1 + (c+s+o)%5)
			}
			slices.SortFunc(lines, func(a, b order.Line) int { return slices.Compare([]byte(a.SKU), []byte(b.SKU)) })
			f.ok(f.Place(f.ctx, f.placement(f.orderAt(name, lines...))))
		}
	}
	msgs = f.messages()
	before := f.Counters().StockCommits.Load()
	f.apply(msgs...)
	if n := f.Counters().StockCommits.Load() - before; n != 1 {
		t.Errorf("one batch took %d transactions", n)
	}
	for c := range 20 {
		rows, err := f.Stock(f.ctx, fmt.Sprint("M", c))
		f.ok(err)
		for _, r := range rows {
			if n := want[fmt.Sprint("M", c, "/", r.SKU)]; r.Locked != n || r.Available != 100-n || r.Version != 2 {
				t.Errorf("M%d %+v, want %d locked", c, r, n)
			}
		}
	}
}

// exactRows: a log that promises more than the row holds must stop the statement,
// not bend a number.
func exactRows(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 3))
	f.apply(f.messages()...)
	f.exec("UPDATE trade_sku_stock SET locked = 1, available = 9 WHERE cabinet_id = ? AND sku_id = 'cola'", cabinet)
	rolled := f.told(func() { f.move(o.ID, order.Timeout) })
	a := f.apply(rolled...)
	if len(a.Known) != 0 {
		t.Errorf("%d locked units were given back of 1: %+v", 3, a)
	}
	f.exec("UPDATE trade_sku_stock SET locked = 3, available = 7 WHERE cabinet_id = ? AND sku_id = 'cola'", cabinet)
	f.settleAll()
}

func releasePays(t *testing.T, f *Fixture) {
	o := f.place(line("cola", 10))
	f.apply(f.messages()...)
	deduct := f.told(func() {
		f.move(o.ID, order.Timeout)
		f.place(line("cola", 10))
	})
	slices.Reverse(deduct)
	if a := f.apply(deduct...); len(a.Waiting) != 0 {
		t.Errorf("waits: %+v", a)
	}
	f.wantStock("cola", 0, 10, 0)
}

// refusal checks that err is a refusal with a code.
func (f *Fixture) refusal(err error, code wire.Code) *order.Refusal {
	f.t.Helper()
	var no *order.Refusal
	if !errors.As(err, &no) || no.Code != code {
		f.t.Fatalf("got %v, want refusal %s", err, code)
	}
	return no
}
