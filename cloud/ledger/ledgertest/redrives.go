package ledgertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"vendline/cloud/ledger"
	"vendline/cloud/letter"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

const operator = "tester"

// letter is the only open one.
func (f *Fixture) letter() ledger.Letter {
	f.t.Helper()
	got, err := f.Letters(f.ctx, 10)
	f.ok(err)
	if len(got) != 1 {
		f.t.Fatalf("%d open letters, want one: %+v", len(got), got)
	}
	return got[0]
}

// history is what was done with a letter.
func (f *Fixture) history(id string) (what []string) {
	f.t.Helper()
	_, past, err := f.Letter(f.ctx, id)
	f.ok(err)
	for _, e := range past {
		what = append(what, e.What)
	}
	return what
}

func (f *Fixture) wantHistory(id string, want ...string) {
	f.t.Helper()
	if got := f.history(id); !slices.Equal(got, want) {
		f.t.Errorf("history %v, want %v", got, want)
	}
}

func (f *Fixture) redrive(id string) letter.Outcome {
	f.t.Helper()
	o, err := f.Redrive(f.ctx, operator, id, false)
	f.ok(err)
	if !o.Done || o.Refuse != "" {
		f.t.Fatalf("redrive: %+v", o)
	}
	return o
}

// dies makes step 8 fail on all stock rows until they are letters.
func (f *Fixture) dies(sku string) (back func()) {
	f.t.Helper()
	back = f.lose(sku)
	for range 17 {
		for _, m := range f.messages() {
			f.apply(m)
		}
	}
	f.wantBacklog(outbox.KindStock, 0)
	return back
}

func letterAgain(t *testing.T, f *Fixture) {
	meta := map[string]string{"topic": "StockTopic", "key": "k"}
	f.ok(f.Bury(f.ctx, "queue", "not JSON", []byte("{"), meta))
	first := f.letter()
	f.Pass(time.Hour)
	f.ok(f.Bury(f.ctx, "queue", "still not JSON", []byte("{"), meta))
	got := f.letter()
	if got.ID != first.ID || got.Attempts != 2 || got.FirstError != "not JSON" || got.LastError != "still not JSON" || got.Reason != got.LastError || !got.BuriedAt.Equal(f.Now()) || !got.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("%+v", got)
	}
	f.wantHistory(got.ID, "buried")
	f.ok(f.Bury(f.ctx, "queue", "not JSON", []byte("["), meta))
	f.ok(f.Bury(f.ctx, "queue", "not JSON", []byte("{"), map[string]string{"topic": "Other", "key": "k"}))
	if n, err := f.CountLetters(f.ctx); err != nil || n != 3 {
		t.Errorf("%d letters, %v", n, err)
	}
}

func letterBeside(t *testing.T, f *Fixture) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := f.Bury(f.ctx, "mqtt", "unreadable", []byte("x"), map[string]string{"topic": "t"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := f.letter(); got.Attempts != 8 {
		t.Errorf("%+v", got)
	}
}

func letterTakesRow(t *testing.T, f *Fixture) {
	f.place(line("cola", 1))
	row := f.rows(outbox.KindTimer)[0]
	for range 2 {
		f.ok(f.Bury(f.ctx, "replace", "names no hold", row.Payload, map[string]string{"row": row.ID}))
	}
	f.wantBacklog(outbox.KindTimer, 0)
	if got := f.letter(); got.Attempts != 2 {
		t.Errorf("%+v", got)
	}
	f.settleAll()
}

func letterFound(t *testing.T, f *Fixture) {
	var ids []string
	for i := range 7 {
		f.Pass(time.Duration(i%2) * time.Second) // some at the same instant
		f.ok(f.Bury(f.ctx, "mqtt", fmt.Sprint("reason ", i), fmt.Appendf(nil, "payload %d ☃", i), map[string]string{"topic": "t", "cabinet": fmt.Sprint("C", i%3), "id": fmt.Sprint("event-", i)}))
	}
	for after, pages := "", 0; ; pages++ {
		p, err := f.FindLetters(f.ctx, letter.Filter{After: after, Limit: 3})
		f.ok(err)
		for i, l := range p.Letters {
			if i > 0 && l.BuriedAt.After(p.Letters[i-1].BuriedAt) {
				t.Error("not the last buried first")
			}
			ids = append(ids, l.ID)
		}
		if after = p.Next; after == "" {
			if pages != 2 {
				t.Errorf("%d pages", pages+1)
			}
			break
		}
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) != 7 {
		t.Errorf("%d letters over all pages", len(ids))
	}
	if o, err := f.Discard(f.ctx, operator, "seen", ids[0], false); err != nil || !o.Done {
		t.Errorf("%+v, %v", o, err)
	}
	for _, c := range []struct {
		f    letter.Filter
		want int64
	}{
		{letter.Filter{}, 6},
		{letter.Filter{State: letter.All}, 7},
		{letter.Filter{State: letter.Discarded}, 1},
		{letter.Filter{State: letter.All, Cabinet: "C0"}, 3},
		{letter.Filter{Source: "stock"}, 0},
		{letter.Filter{State: letter.All, Text: "event-3"}, 1},
		{letter.Filter{State: letter.All, Text: ids[1]}, 1},
		{letter.Filter{State: letter.All, Text: "payload 4 ☃"}, 1},
		{letter.Filter{State: letter.All, Text: "reason"}, 7},
		{letter.Filter{State: letter.All, Text: "☃☃"}, 0},
		{letter.Filter{State: letter.All, Text: "' OR 1=1 -- %"}, 0},
	} {
		if n, err := f.CountFound(f.ctx, c.f); err != nil || n != c.want {
			t.Errorf("%+v: %d, %v, want %d", c.f, n, err, c.want)
		}
	}
	if _, err := f.FindLetters(f.ctx, letter.Filter{After: "x"}); err == nil {
		t.Error("a page that is none")
	}
	if _, _, err := f.Letter(f.ctx, "nobody"); err == nil {
		t.Error("a letter that is none")
	}
}

func redriveStock(t *testing.T, f *Fixture) {
	o := f.place(line("chips", 2))
	created := f.rows(outbox.KindStock)[0].CreatedAt
	back := f.dies("chips")
	f.Pass(48 * time.Hour)
	back()
	f.Invariants() // the letter is what tells that the order is not in stock
	d := f.letter()
	if d.Subject != o.ID || d.Cabinet != cabinet || d.Attempts != 17 {
		t.Errorf("%+v", d)
	}
	f.redrive(d.ID)
	if rows := f.rows(outbox.KindStock); len(rows) != 1 || !rows[0].CreatedAt.Equal(created) {
		t.Errorf("rows %+v, want one of %v", rows, created)
	}
	f.Invariants() // … and now its row
	msgs := f.messages()
	f.apply(msgs...)
	f.apply(msgs...)
	f.wantStock("chips", 8, 2, 0)
	f.wantHistory(d.ID, "buried", "redriven")
	if n, err := f.CountLetters(f.ctx); err != nil || n != 0 {
		t.Errorf("%d open letters, %v", n, err)
	}
	if o, err := f.Redrive(f.ctx, operator, d.ID, false); err != nil || o.Done || o.Refuse == "" {
		t.Errorf("redriven again: %+v, %v", o, err)
	}
}

func redriveFails(t *testing.T, f *Fixture) {
	f.place(line("chips", 2))
	back := f.dies("chips")
	first := f.letter()
	f.Pass(time.Hour)
	f.redrive(first.ID)
	back()
	back = f.dies("chips")
	again := f.letter()
	if again.ID != first.ID || again.Attempts != 34 || !again.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("%+v, want letter %s with 34 attempts", again, first.ID)
	}
	f.wantHistory(first.ID, "buried", "redriven", "returned")
	back()
	f.redrive(first.ID)
	f.settleAll()
	f.wantStock("chips", 8, 2, 0)
}

func redriveDry(t *testing.T, f *Fixture) {
	f.place(line("chips", 2))
	f.dies("chips")()
	d := f.letter()
	o, err := f.Redrive(f.ctx, operator, d.ID, true)
	if err != nil || o.Done || o.Refuse != "" || o.Action == "" {
		t.Errorf("%+v, %v", o, err)
	}
	f.wantBacklog(outbox.KindStock, 0)
	f.wantHistory(d.ID, "buried")
	f.redrive(d.ID)
	f.settleAll()
}

func redriveTwice(t *testing.T, f *Fixture) {
	f.place(line("chips", 2))
	f.dies("chips")()
	d := f.letter()
	var mu sync.Mutex
	var done int
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			o, err := f.Redrive(f.ctx, operator, d.ID, false)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if o.Done {
				done++
			}
		})
	}
	wg.Wait()
	if done != 1 {
		t.Errorf("%d redrives sent it", done)
	}
	f.wantBacklog(outbox.KindStock, 1)
	f.settleAll()
	f.wantStock("chips", 8, 2, 0)
}

// A redrive that cannot write its last row stands for one whose process died
// before the commit.
func redriveAtomic(t *testing.T, f *Fixture) {
	f.place(line("chips", 2))
	f.dies("chips")()
	d := f.letter()
	f.exec("ALTER TABLE dead_letter_event RENAME TO gone")
	if o, err := f.Redrive(f.ctx, operator, d.ID, false); err == nil {
		t.Errorf("redriven without a trace: %+v", o)
	}
	if o, err := f.Discard(f.ctx, operator, "note", d.ID, false); err == nil && o.Done {
		t.Errorf("discarded without a trace: %+v", o)
	}
	f.wantBacklog(outbox.KindStock, 0)
	f.letter()
	f.Invariants()
	f.exec("ALTER TABLE gone RENAME TO dead_letter_event")
	f.redrive(d.ID)
	f.settleAll()
	f.wantStock("chips", 8, 2, 0)
}

func redriveSources(t *testing.T, f *Fixture) {
	topic := wire.Topic(cabinet, wire.ChannelFact)
	fact := wire.Encode(wire.Event{V: wire.Version, ID: f.ID(), Cabinet: cabinet, Epoch: f.ID(), Seq: 1, Fact: &wire.Fact{Kind: wire.FactRestock, Lines: []wire.Line{{SKU: "cola", Qty: 2}}}})
	o := f.place(line("cola", 1))
	f.settleAll()
	f.exec("DELETE FROM local_msg")
	state := statement.Statement{ID: o.ID, Cabinet: cabinet, State: statement.PreReserved, Version: 1, Lines: []wire.Line{{SKU: "cola", Qty: 1}}}
	states := statement.Message{Statements: []statement.Statement{state}}.Encode()
	state.Version = 2
	ahead := statement.Message{Statements: []statement.Statement{state}}.Encode()
	state.ID, state.State = f.ID(), statement.Sale
	nowhere := statement.Message{Statements: []statement.Statement{state}}.Encode()
	for _, c := range []struct {
		name, source, payload string
		meta                  map[string]string
		kind                  outbox.Kind // empty: it cannot go back
	}{
		{"fact", letter.MQTT, string(fact), map[string]string{"topic": topic}, outbox.KindIntake},
		{"unreadable fact", letter.MQTT, "{", map[string]string{"topic": topic}, ""},
		{"another's fact", letter.MQTT, string(fact), map[string]string{"topic": wire.Topic("C9", wire.ChannelFact)}, ""},
		{"scan-order", letter.MQTT, "{}", map[string]string{"topic": wire.Topic(cabinet, wire.ChannelOrder)}, ""},
		{"no topic", letter.MQTT, "{}", map[string]string{"topic": "x"}, ""},
		{"stock message", letter.Queue, string(states), map[string]string{"topic": "StockTopic"}, outbox.KindStock},
		{"a version that never was", letter.Queue, string(ahead), map[string]string{"topic": "StockTopic"}, ""},
		{"a fact that never was", letter.DLQ, string(nowhere), map[string]string{"topic": "StockTopic"}, ""},
		{"no stock message", letter.Queue, "x", map[string]string{"topic": "StockTopic"}, ""},
		{"given up stock message", letter.DLQ, string(states), map[string]string{"topic": "StockTopic"}, outbox.KindStock},
		{"given up hint", letter.DLQ, `{"at":1,"ids":["a"]}`, map[string]string{"topic": "TimerTopic"}, outbox.KindTimer},
		{"given up anything", letter.DLQ, "x", map[string]string{"topic": "TimerTopic"}, ""},
		{"statement", letter.Stock, string(states), nil, outbox.KindStock},
		{"replace", letter.Replace, `{"ids":["a"]}`, map[string]string{"row": f.ID()}, outbox.KindReplace},
		{"replace of nothing", letter.Replace, `{}`, map[string]string{"row": f.ID()}, ""},
		{"planogram", letter.Planogram, `{"cabinet":"C1","version":1}`, map[string]string{"row": f.ID()}, outbox.KindPlanogram},
		{"planogram of nobody", letter.Planogram, `x`, map[string]string{"row": f.ID()}, ""},
		{"intent", letter.Intent, `{"ids":["a"]}`, map[string]string{"row": f.ID()}, outbox.KindIntent},
		{"command", letter.Command, `id`, map[string]string{"row": f.ID()}, outbox.KindCommand},
		{"callback", letter.Callback, `{"url":"http://a/","body":""}`, map[string]string{"row": f.ID()}, outbox.KindCallback},
		{"alert", letter.Alert, `{"sink":"log"}`, map[string]string{"row": f.ID()}, outbox.KindAlert},
		{"callback to nowhere", letter.Callback, `{}`, map[string]string{"row": f.ID()}, ""},
		{"unreadable effect", letter.Effect, `x`, map[string]string{"row": f.ID()}, ""},
		{"a source of tomorrow", "tomorrow", `x`, nil, ""},
	} {
		f.Pass(time.Second)
		f.ok(f.Bury(f.ctx, c.source, c.name, []byte(c.payload), c.meta))
		list, err := f.Letters(f.ctx, 1)
		f.ok(err)
		o, err := f.Redrive(f.ctx, operator, list[0].ID, false)
		f.ok(err)
		if c.kind == "" {
			if o.Done || o.Refuse == "" {
				t.Errorf("%s: %+v", c.name, o)
			}
			if n := f.count("SELECT COUNT(*) FROM local_msg"); n != 0 {
				t.Errorf("%s: refused, and %d rows", c.name, n)
			}
			if o, err := f.Discard(f.ctx, operator, c.name, list[0].ID, false); err != nil || !o.Done {
				t.Errorf("%s: discard: %+v, %v", c.name, o, err)
			}
			continue
		}
		if rows := f.rows(c.kind); !o.Done || len(rows) != 1 || f.count("SELECT COUNT(*) FROM local_msg") != 1 {
			t.Errorf("%s: %+v, %d rows of %s", c.name, o, len(rows), c.kind)
		}
		f.exec("DELETE FROM local_msg")
	}
}

func redriveCallback(t *testing.T, f *Fixture) {
	payload, _ := json.Marshal(outbox.Callback{URL: "https://example.com/", Body: []byte("{}")})
	row := f.ID()
	die := func() {
		f.ok(f.Bury(f.ctx, letter.Callback, "answered 500", payload, map[string]string{"row": row, "attempts": "17"}))
	}
	die()
	d := f.letter()
	f.redrive(d.ID)
	if rows := f.rows(outbox.KindCallback); len(rows) != 1 || rows[0].ID != row || string(rows[0].Payload) != string(payload) {
		t.Errorf("rows %+v", rows)
	}
	fed := f.Fed()
	if len(fed) != 1 || fed[0].ID != row {
		t.Errorf("fed %+v: a redrive waits for no poll", fed)
	}
	die()
	if got := f.letter(); got.ID != d.ID || got.Attempts != 34 {
		t.Errorf("%+v", got)
	}
	f.wantBacklog(outbox.KindCallback, 0)
	f.wantHistory(d.ID, "buried", "redriven", "returned")
}

func redriveEffect(t *testing.T, f *Fixture) {
	f.record(statement.Restock, wire.Line{SKU: "cola", Qty: 1})
	row := f.rows(outbox.KindRedis)[0]
	f.ok(f.Bury(f.ctx, letter.Effect, "refused", row.Payload, map[string]string{"row": row.ID}))
	before := f.current(cabinet)
	f.redrive(f.letter().ID)
	if f.current(cabinet) == before {
		t.Error("the cabinet is as it was")
	}
	f.wantBacklog(outbox.KindRedis, 0)
	f.load(cabinet)
	f.settleAll()
}

func (f *Fixture) wantKept(id string) {
	f.t.Helper()
	o, err := f.Discard(f.ctx, operator, "note", id, false)
	f.ok(err)
	if o.Done || o.Refuse == "" {
		f.t.Errorf("discarded: %+v", o)
	}
	f.letter()
}

func (f *Fixture) wantGone(id string) {
	f.t.Helper()
	o, err := f.Discard(f.ctx, operator, "note", id, false)
	f.ok(err)
	if !o.Done {
		f.t.Errorf("kept: %+v", o)
	}
	if n, err := f.CountLetters(f.ctx); err != nil || n != 0 {
		f.t.Errorf("%d open letters, %v", n, err)
	}
	f.Invariants()
}

func discardNeeded(t *testing.T, f *Fixture) {
	f.place(line("chips", 2), line("cola", 1))
	f.dies("chips")()
	d := f.letter()
	f.Pass(48 * time.Hour)
	f.wantKept(d.ID)
	f.Invariants()
	f.redrive(d.ID)
	f.settleAll()
	f.wantStock("chips", 8, 2, 0)
}

func discardOvertaken(t *testing.T, f *Fixture) {
	o := f.place(line("chips", 2))
	f.dies("chips")()
	d := f.letter()
	f.Pass(time.Hour)
	f.move(o.ID, order.PaySuccess)
	f.wantKept(d.ID) // what overtakes it is under way and might fail as well
	f.settleAll()
	f.wantGone(d.ID)
	f.wantStock("chips", 8, 0, 2)
}

func discardNothing(t *testing.T, f *Fixture) {
	s := statement.Statement{ID: f.ID(), Cabinet: cabinet, State: statement.Consumed, Version: 0, Lines: []wire.Line{{SKU: "cola", Qty: 1}}}
	f.place(line("cola", 1))
	m := f.messages()[0]
	m.Statements = append(m.Statements, s)
	f.apply(m)
	d := f.letter()
	if o, err := f.Redrive(f.ctx, operator, d.ID, false); err != nil || o.Refuse == "" {
		t.Errorf("redriven: %+v, %v", o, err)
	}
	f.wantGone(d.ID)
}

func discardFact(t *testing.T, f *Fixture) {
	fact := f.record(statement.Restock, wire.Line{SKU: "chips", Qty: 5})
	m := f.messages()[0]
	f.ok(f.Bury(f.ctx, letter.Stock, "unlucky", statement.Message{Statements: m.Statements}.Encode(),
		map[string]string{"row": m.Row, "cabinet": cabinet, "id": fact.ID, "version": "1"}))
	d := f.letter()
	f.wantKept(d.ID)
	f.redrive(d.ID)
	f.settleAll()
	f.wantStock("chips", 15, 0, 0)
}

func discardUndone(t *testing.T, f *Fixture) {
	payload, _ := json.Marshal(outbox.Callback{URL: "https://example.com/", Body: []byte("{}")})
	f.ok(f.Bury(f.ctx, letter.Callback, "answered 500", payload, map[string]string{"row": f.ID()}))
	d := f.letter()
	if _, err := f.Discard(f.ctx, operator, " ", d.ID, false); err == nil {
		t.Error("discarded without a note")
	}
	if o, err := f.Discard(f.ctx, operator, "the shop is closed", d.ID, true); err != nil || o.Done {
		t.Errorf("dry run: %+v, %v", o, err)
	}
	f.wantGone(d.ID)
	_, past, err := f.Letter(f.ctx, d.ID)
	f.ok(err)
	if last := past[len(past)-1]; last.Who != operator || last.Note != "note" || !last.At.Equal(f.Now()) {
		t.Errorf("%+v", last)
	}
	f.redrive(d.ID)
	f.wantHistory(d.ID, "buried", "discarded", "redriven")
	f.wantBacklog(outbox.KindCallback, 1)
}
