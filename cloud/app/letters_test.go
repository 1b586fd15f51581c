package app_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"vendline/cloud/app"
	"vendline/cloud/letter"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/deploy/stack"
	"vendline/shared/wire"
)

// letterOf waits for the one open letter of a source.
func letterOf(t *testing.T, a *app.App, source string) letter.Letter {
	t.Helper()
	var got []letter.Letter
	eventually(t, "a letter of "+source, func() bool {
		p, err := a.Ledger.FindLetters(t.Context(), letter.Filter{Source: source})
		got = p.Letters
		return err == nil && len(got) == 1
	})
	return got[0]
}

func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !yes(); {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// A stranger in the group refuses every message at once, so the broker puts them
// to its dead letters. They come out as letters, and a redrive moves stock once.
func TestWhatTheBrokerGivesUpIsALetterAndMovesStockOnce(t *testing.T) {
	if testing.Short() {
		return // needs RocketMQ
	}
	d := stack.Need(t)
	dir := t.TempDir()
	space, servers := d.Topic(t, "dlq"), strings.TrimPrefix(d.RocketMQ, "http://")
	cfg := app.Config{
		HTTP: "127.0.0.1:0", Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "embedded", Queue: "rocketmq://" + servers, Namespace: space,
		Roles: []app.Role{app.RoleAPI, app.RoleRelay}, // nobody handles anything yet
	}
	a, err := app.New(t.Context(), cfg, app.System(slog.New(slog.DiscardHandler)))
	must(t, err)
	must(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	must(t, a.Ledger.AddCabinet(t.Context(), "C001", map[string]int64{"cola": 9}))
	topic := space + "_StockTopic"
	refused := make(chan struct{}, 64)
	stranger, err := consumer.NewPushConsumer(consumer.WithNameServer([]string{"http://" + servers}), consumer.WithGroupName(topic+"_group"),
		consumer.WithInstance("stranger-"+space), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithMaxReconsumeTimes(0))
	must(t, err)
	must(t, stranger.Subscribe(topic, consumer.MessageSelector{}, func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		refused <- struct{}{}
		return consumer.ConsumeRetryLater, nil
	}))
	must(t, stranger.Start())
	o, _, err := a.Orders.Place(t.Context(), order.Request{ID: uuid(1), Cabinet: "C001", User: "ann", Lines: []wire.Line{{SKU: "cola", Qty: 2}}})
	must(t, err)
	select {
	case <-refused:
	case <-time.After(time.Minute):
		t.Fatal("the stranger got nothing")
	}
	time.Sleep(time.Second) // it has told the broker by then, and leaves
	must(t, stranger.Shutdown())
	a.Close()

	cfg.Roles = nil // now with step 8, and whoever takes dead letters in
	a, err = app.New(t.Context(), cfg, app.System(slog.New(slog.DiscardHandler)))
	must(t, err)
	defer a.Close()
	got := letterOf(t, a, letter.DLQ)
	if got.Meta["topic"] != topic || got.Subject != o.ID || got.Cabinet != "C001" || got.Attempts < 1 || len(got.Payload) == 0 {
		t.Errorf("%+v", got)
	}
	out, err := a.Ledger.Redrive(t.Context(), "tester", got.ID, false)
	if must(t, err); !out.Done {
		t.Fatalf("%+v", out)
	}
	eventually(t, "an empty outbox", func() bool {
		stats, err := a.Ledger.Backlog(t.Context())
		must(t, err)
		for _, s := range stats {
			if s.Kind == outbox.KindStock && s.Depth > 0 {
				return false
			}
		}
		return true
	})
	rows, err := a.Ledger.Stock(t.Context(), "C001")
	must(t, err)
	if r := rows[0]; r.Available != 7 || r.Locked != 2 || r.Total != 9 {
		t.Errorf("%+v, want two of nine locked, once", r)
	}
}

// What a cabinet sent and nobody could book is a letter; once its cause is gone,
// a redrive books it, and one that cannot be booked yet is the same letter again.
func TestARedrivenFactIsBookedOnceOrIsTheSameLetter(t *testing.T) {
	for _, mode := range []string{app.ModeAsync, app.ModeSync} {
		t.Run(mode, func(t *testing.T) { redriveFact(t, mode) })
	}
}

func redriveFact(t *testing.T, mode string) {
	dir := t.TempDir()
	a, err := app.New(t.Context(), app.Config{
		Mode: mode, HTTP: "127.0.0.1:0", Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "embedded", Queue: "bolt:" + filepath.Join(dir, "q.db"),
	}, app.System(slog.New(slog.DiscardHandler)))
	must(t, err)
	defer a.Close()
	fact := wire.Encode(wire.Event{V: wire.Version, ID: uuid(3), Cabinet: "C001", Epoch: uuid(4), Seq: 1, At: 1, Fact: &wire.Fact{Kind: wire.FactRestock, Lines: []wire.Line{{SKU: "cola", Qty: 5}}}})
	must(t, a.Ledger.Bury(t.Context(), letter.MQTT, "cabinet_unknown", fact, map[string]string{"topic": wire.Topic("C001", wire.ChannelFact), "cabinet": "C001", "id": uuid(3)}))
	first := letterOf(t, a, letter.MQTT)
	_, err = a.Ledger.Redrive(t.Context(), "tester", first.ID, false)
	must(t, err)
	eventually(t, "the letter to come back", func() bool {
		_, past, err := a.Ledger.Letter(t.Context(), first.ID)
		return err == nil && len(past) == 3
	})
	if again := letterOf(t, a, letter.MQTT); again.ID != first.ID || again.Attempts != 2 {
		t.Errorf("%+v, want letter %s with two attempts", again, first.ID)
	}
	must(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	must(t, a.Ledger.AddCabinet(t.Context(), "C001", map[string]int64{"cola": 1}))
	_, err = a.Ledger.Redrive(t.Context(), "tester", first.ID, false)
	must(t, err)
	eventually(t, "six cola", func() bool {
		rows, err := a.Ledger.Stock(t.Context(), "C001")
		return err == nil && len(rows) == 1 && rows[0].Available == 6
	})
	if n, err := a.Ledger.CountLetters(t.Context()); err != nil || n != 0 {
		t.Error(errors.Join(err, errors.New("a letter is open")))
	}
}
