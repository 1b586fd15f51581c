package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

func failures() []promise {
	return []promise{
		{"an impossible statement is buried at once, and costs itself only", impossible},
		{"a failing statement is retried 16 times with growing intervals, then buried", retriedSixteen},
		{"a failing statement holds up nobody", failingAlone},
		{"a duplicate of a failed statement starts no second row", failingDuplicate},
		{"lines that fit are applied, the others wait", partialLines},
		{"what waits keeps the age it had", waitingAge},
		{"a duplicate of what waits starts no second row", waitingDuplicate},
		{"more waiting statements than one message holds", waitingMany},
	}
}

func impossible(t *testing.T, f *Fixture) {
	f.place(line("cola", 1))
	f.Pass(time.Minute)
	good := f.messages()[0]
	bad := good
	row := f.told(func() { f.place(line("cola", 1)) })[0]
	bad.Row = row.Row
	bad.Statements = []statement.Statement{
		{ID: "", Cabinet: cabinet, State: statement.Consumed, Version: 1, Lines: []wire.Line{{SKU: "cola", Qty: 1}}},
		{ID: f.ID(), Cabinet: "a/b", State: statement.Consumed, Version: 1, Lines: []wire.Line{{SKU: "cola", Qty: 1}}},
		{ID: f.ID(), Cabinet: cabinet, State: "LOST", Version: 1, Lines: []wire.Line{{SKU: "cola", Qty: 1}}},
		{ID: f.ID(), Cabinet: cabinet, State: statement.Consumed, Version: 0, Lines: []wire.Line{{SKU: "cola", Qty: 1}}},
		{ID: f.ID(), Cabinet: cabinet, State: statement.Consumed, Version: 1},
		{ID: f.ID(), Cabinet: cabinet, State: statement.Consumed, Version: 1, Lines: []wire.Line{{SKU: "cola", Qty: -1}}},
		{ID: f.ID(), Cabinet: cabinet, State: statement.Consumed, Version: 1, Lines: []wire.Line{{SKU: "cola", Qty: 1}, {SKU: "cola", Qty: 1}}},
		row.Statements[0],
	}
	f.Pass(time.Minute)
	a := f.apply(good, bad)
	if a.Dead != 7 || len(a.Known) != 2 {
		t.Errorf("got %+v", a)
	}
	f.wantStock("cola", 8, 2, 0)
	f.apply(good, bad)
	letters, err := f.Letters(f.ctx, 100)
	f.ok(err)
	if len(letters) != 7 {
		t.Errorf("%d dead letters, want 7: a redelivery buries nothing again", len(letters))
	}
	for _, l := range letters {
		if want := f.Now().Add(-time.Minute); l.Source != "stock" || l.Reason == "" || !l.CreatedAt.Equal(want) || !l.BuriedAt.Equal(f.Now()) {
			t.Errorf("%+v, want one that came about at %v", l, want)
		}
	}
}

// lose takes a SKU's stock row away, so that every statement about it fails,
// and returns what puts it back.
func (f *Fixture) lose(sku string) (back func()) {
	f.t.Helper()
	f.exec("UPDATE trade_sku_stock SET sku_id = CONCAT('x-', sku_id) WHERE sku_id = ?", sku)
	return func() {
		f.exec("UPDATE trade_sku_stock SET sku_id = ? WHERE sku_id = ?", sku, "x-"+sku)
	}
}

func retriedSixteen(t *testing.T, f *Fixture) {
	o := f.place(line("chips", 1))
	created := f.rows(outbox.KindStock)[0].CreatedAt
	f.Pass(time.Hour)
	back := f.lose("chips")
	last := time.Duration(0)
	for try := 1; try <= 17; try++ {
		claimed, err := f.Claim(f.ctx, outbox.KindStock, 10, once)
		f.ok(err)
		if len(claimed) != 1 {
			t.Fatalf("try %d: %d rows are due", try, len(claimed))
		}
		m, err := statement.Decode(claimed[0].Payload)
		f.ok(err)
		a := f.apply(m)
		if (a.Dead == 1) != (try == 17) {
			t.Fatalf("try %d: %+v", try, a)
		}
		if try == 17 {
			break
		}
		due := time.UnixMilli(f.count("SELECT due_at FROM local_msg WHERE kind = 'stock'")).Sub(f.Now())
		if due < last || due > 10*time.Minute {
			t.Errorf("try %d: again in %v, after %v", try, due, last)
		}
		if last = due; !f.rows(outbox.KindStock)[0].CreatedAt.Equal(created) {
			t.Errorf("try %d: the row's age is lost", try)
		}
		f.Pass(due)
	}
	letters, err := f.Letters(f.ctx, 10)
	f.ok(err)
	if len(letters) != 1 || letters[0].Attempts != 17 || letters[0].Meta["id"] != o.ID || letters[0].Meta["first_error"] == "" || !letters[0].CreatedAt.Equal(created) {
		t.Errorf("dead letters %+v", letters)
	}
	f.wantBacklog(outbox.KindStock, 0)
	back()
}

func once(int) time.Duration { return time.Minute }

func failingAlone(t *testing.T, f *Fixture) {
	f.AddStock("C2", map[string]int64{"cola": 100})
	back := f.lose("chips")
	var msgs []statement.Message
	for range 5 {
		f.ok(f.Place(f.ctx, f.placement(f.orderAt("C2", line("cola", 1)))))
	}
	o := f.place(line("chips", 1))
	for range 5 {
		f.ok(f.Place(f.ctx, f.placement(f.orderAt("C2", line("cola", 1)))))
	}
	// All in one message, as a commit group's would be.
	one := statement.Message{Row: f.messages()[0].Row}
	for _, m := range f.messages() {
		one.Statements = append(one.Statements, m.Statements...)
		msgs = append(msgs, m)
	}
	if a := f.apply(one); len(a.Known) != 10 || a.Dead != 0 {
		t.Errorf("got %d known, %d dead", len(a.Known), a.Dead)
	}
	rows, err := f.Stock(f.ctx, "C2")
	f.ok(err)
	if rows[0].Locked != 10 {
		t.Errorf("%+v", rows[0])
	}
	for _, m := range msgs[1:] { // the rows whose statements travelled in the first's message
		f.ok(f.Delete(f.ctx, m.Row))
	}
	left := f.messages()
	if len(left) != 1 || len(left[0].Statements) != 1 || left[0].Statements[0].ID != o.ID || left[0].Attempt != 1 {
		t.Errorf("waits %+v", left)
	}
	back()
	f.settleAll()
}

func failingDuplicate(t *testing.T, f *Fixture) {
	f.place(line("chips", 1), line("cola", 1))
	msgs := f.messages()
	back := f.lose("chips")
	for range 3 {
		f.apply(msgs...)
	}
	f.wantBacklog(outbox.KindStock, 1)
	if m := f.messages()[0]; m.Attempt != 1 {
		t.Errorf("%d attempts", m.Attempt)
	}
	back()
	f.settleAll()
	f.wantStock("chips", 9, 1, 0)
}

// oversell places an order that the ledger cannot know to be short: as after a
// Redis that lost writes.
func (f *Fixture) oversell(lines ...order.Line) order.Order {
	f.t.Helper()
	f.Pass(time.Second)
	return f.place(lines...)
}

func partialLines(t *testing.T, f *Fixture) {
	first := f.place(line("cola", 10))
	f.settleAll()
	o := f.oversell(line("chips", 2), line("cola", 1))
	a := f.apply(f.messages()...)
	if len(a.Known) != 0 || len(a.Waiting) != 1 || len(a.Waiting[0].Lines) != 1 || a.Waiting[0].Lines[0].SKU != "cola" {
		t.Errorf("got %+v", a)
	}
	f.wantStock("chips", 8, 2, 0)
	f.wantStock("cola", 0, 10, 0)
	f.Invariants()
	f.apply(f.told(func() { f.move(first.ID, order.Timeout) })...)
	if a := f.apply(f.messages()...); len(a.Known) != 1 || a.Known[0].ID != o.ID {
		t.Errorf("got %+v", a)
	}
	f.wantStock("cola", 9, 1, 0)
}

func waitingAge(t *testing.T, f *Fixture) {
	f.place(line("cola", 10))
	f.settleAll()
	f.oversell(line("cola", 1))
	created := f.rows(outbox.KindStock)[0].CreatedAt
	for range 3 {
		f.Pass(time.Minute)
		f.apply(f.messages()...)
		if got := f.rows(outbox.KindStock); len(got) != 1 || !got[0].CreatedAt.Equal(created) {
			t.Fatalf("waits %+v, want one row of %v", got, created)
		}
		f.Invariants()
	}
	f.settleAll()
}

func waitingDuplicate(t *testing.T, f *Fixture) {
	f.place(line("cola", 10))
	f.settleAll()
	f.oversell(line("cola", 1))
	msgs := f.messages()
	for range 3 {
		f.apply(msgs...)
	}
	f.wantBacklog(outbox.KindStock, 1)
	f.settleAll()
}

func waitingMany(t *testing.T, f *Fixture) {
	f.place(line("cola", 10))
	f.settleAll()
	f.Pass(time.Second)
	var msgs []statement.Message
	for i := range 400 {
		o := f.order(line("cola", 1))
		o.User = fmt.Sprint("u", i)
		f.ok(f.Place(f.ctx, f.placement(o)))
	}
	msgs = f.messages()
	f.apply(msgs...)
	n := 0
	for _, m := range f.messages() {
		n += len(m.Statements)
		if len(m.Statements) > 150 {
			t.Errorf("a message of %d statements", len(m.Statements))
		}
	}
	if n != 400 {
		t.Errorf("%d statements wait", n)
	}
	f.settleAll()
	f.wantStock("cola", 0, 10, 0)
}
