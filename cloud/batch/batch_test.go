package batch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"vendline/cloud/batch"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/cloud/queue"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

type holds struct {
	mu      sync.Mutex
	settled []statement.Settled
}

func (h *holds) Settle(_ context.Context, known []statement.Settled) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settled = append(h.settled, known...)
	return nil
}

// books is a real ledger, with one cabinet of eight cola.
type books struct {
	*ledger.Ledger
	rows   []outbox.Row
	serial atomic.Int64
}

func open(t *testing.T) *books {
	t.Helper()
	b := &books{}
	id := func() string { return fmt.Sprintf("01a3185c-5078-7000-8000-%012x", b.serial.Add(1)) }
	l, err := ledger.Open(t.Context(), ledger.SQLite(), filepath.Join(t.TempDir(), "l.db"), ledger.Options{
		Clock: time.Now, ID: id, Token: func() string { return fmt.Sprintf("%x", b.serial.Add(1)) },
		Feed: func(rows []outbox.Row) { b.rows = append(b.rows, rows...) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	b.Ledger = l
	if err := l.AddCabinet(t.Context(), "C1", map[string]int64{"cola": 8}); err != nil {
		t.Fatal(err)
	}
	return b
}

// place places n orders of one cola, as if Redis had admitted all of them, and
// returns their messages.
func (b *books) place(t *testing.T, n int) (msgs []queue.Message) {
	t.Helper()
	generation := ""
	err := b.Rebuild(t.Context(), "C1", func(_ context.Context, g string) (bool, error) { generation = g; return true, nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.rows = nil
	for range n {
		o := order.Order{ID: fmt.Sprintf("01a3185c-5078-7000-9000-%012x", b.serial.Add(1)), Cabinet: "C1", User: "ann", Status: order.PreReserved, Version: 1,
			Currency: "EUR", Lines: []order.Line{{SKU: "cola", Qty: 1}}, CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}
		if err := b.Place(t.Context(), &order.Placement{Order: o, Run: order.Run{Generation: generation, Ticket: b.serial.Add(1)}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range b.rows {
		if r.Kind == outbox.KindStock {
			msgs = append(msgs, queue.Message{Topic: "StockTopic", Key: r.ID, Shard: r.Shard, Body: r.Payload})
		}
	}
	return msgs
}

func TestOfTenMessagesOneMalformedAndOneShortEightApplyOnce(t *testing.T) {
	b, h := open(t), &holds{}
	msgs := b.place(t, 9)
	msgs = slices.Insert(msgs, 4, queue.Message{Topic: "StockTopic", Body: []byte(`{"v":1,`)})
	var alarms []statement.Shortage
	c := batch.New(b, h, batch.Options{Log: slog.New(slog.DiscardHandler), Short: func(s statement.Shortage) { alarms = append(alarms, s) }})
	for range 2 { // delivered twice, as queues do
		if err := c.Handle(t.Context(), msgs); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	stock, err := b.Stock(t.Context(), "C1")
	if err != nil {
		t.Fatal(err)
	}
	if r := stock[0]; r.Available != 0 || r.Locked != 8 || r.Total != 8 {
		t.Errorf("%+v, want 8 locked", r)
	}
	if len(alarms) != 1 || len(alarms[0].Losers) != 1 {
		t.Errorf("alarms %+v, want one with one loser", alarms)
	}
	letters, err := b.Letters(t.Context(), 10)
	if err != nil || len(letters) != 1 || letters[0].Attempts != 2 || letters[0].Source != "queue" || letters[0].Meta["topic"] != "StockTopic" {
		t.Errorf("%d dead letters, %v: delivered twice, a malformed message is one letter", len(letters), err)
	}
	ids := map[string]bool{}
	for _, s := range h.settled {
		ids[s.ID] = true
	}
	if len(ids) != 8 {
		t.Errorf("%d holds settled", len(ids))
	}
}

// stub is a ledger whose Apply can be told what to do.
type stub struct {
	apply func(ctx context.Context, msgs []statement.Message) (statement.Applied, error)
	bury  error
}

func (s *stub) Apply(ctx context.Context, msgs []statement.Message) (statement.Applied, error) {
	return s.apply(ctx, msgs)
}

func (s *stub) SettleShortage(context.Context, string, string) (*statement.Shortage, error) {
	return nil, errors.New("away")
}

func (s *stub) Bury(context.Context, string, string, []byte, map[string]string) error { return s.bury }

func message(state statement.State) queue.Message {
	st := statement.Statement{ID: "o-" + string(state), Cabinet: "C1", State: state, Version: 2, Lines: []wire.Line{{SKU: "cola", Qty: 1}}}
	return queue.Message{Body: statement.Message{Row: "r", Statements: []statement.Statement{st}}.Encode()}
}

func TestOnlyHoldsInForceAreSettled(t *testing.T) {
	h := &holds{}
	s := &stub{apply: func(_ context.Context, msgs []statement.Message) (a statement.Applied, err error) {
		for _, m := range msgs {
			a.Known = append(a.Known, m.Statements...)
		}
		return a, nil
	}}
	c := batch.New(s, h, batch.Options{Log: slog.New(slog.DiscardHandler)})
	var msgs []queue.Message
	for _, state := range []statement.State{statement.PreReserved, statement.Consumed, statement.RolledBack, statement.Sale, statement.Restock} {
		msgs = append(msgs, message(state))
	}
	if err := c.Handle(t.Context(), msgs); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if len(h.settled) != 2 || h.settled[0] != (statement.Settled{Cabinet: "C1", ID: "o-PRE_RESERVED", Version: 2}) {
		t.Errorf("settled %+v", h.settled)
	}
}

func TestWhatIsNotDurableIsNotAcknowledged(t *testing.T) {
	away := errors.New("away")
	s := &stub{bury: away, apply: func(context.Context, []statement.Message) (statement.Applied, error) {
		return statement.Applied{}, away
	}}
	c := batch.New(s, nil, batch.Options{Log: slog.New(slog.DiscardHandler)})
	defer c.Close()
	if err := c.Handle(t.Context(), []queue.Message{message(statement.Sale)}); !errors.Is(err, away) {
		t.Errorf("apply: %v", err)
	}
	if err := c.Handle(t.Context(), []queue.Message{{Body: []byte("{")}}); !errors.Is(err, away) {
		t.Errorf("bury: %v", err)
	}
}

func TestADatabaseThatIsAwayIsWaitedForNotHeldAgainstTheMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		s := &stub{apply: func(ctx context.Context, _ []statement.Message) (statement.Applied, error) {
			select {
			case <-back:
				return statement.Applied{}, nil
			case <-ctx.Done():
				return statement.Applied{}, ctx.Err()
			}
		}}
		c := batch.New(s, nil, batch.Options{Log: slog.New(slog.DiscardHandler)})
		handled := make(chan error, 1)
		go func() { handled <- c.Handle(context.Background(), []queue.Message{message(statement.Sale)}) }()
		time.Sleep(time.Hour)
		close(back)
		if err := <-handled; err != nil {
			t.Error(err)
		}
		c.Close()
	})
}

func TestManyMessagesShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		s := &stub{apply: func(_ context.Context, msgs []statement.Message) (statement.Applied, error) {
			sizes = append(sizes, len(msgs))
			return statement.Applied{}, nil
		}}
		c := batch.New(s, nil, batch.Options{Log: slog.New(slog.DiscardHandler)})
		defer c.Close()
		var wg sync.WaitGroup
		for range 3 { // low traffic: three deliveries of one message each
			wg.Go(func() { _ = c.Handle(context.Background(), []queue.Message{message(statement.Sale)}) })
		}
		wg.Wait()
		begun := time.Now()
		_ = c.Handle(context.Background(), slices.Repeat([]queue.Message{message(statement.Sale)}, 64))
		if !slices.Equal(sizes, []int{3, 64}) || time.Since(begun) != 0 {
			t.Errorf("transactions of %v messages; a busy queue waited %v", sizes, time.Since(begun))
		}
	})
}
