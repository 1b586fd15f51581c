package intent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"vendline/cloud/intent"
	"vendline/cloud/order"
	"vendline/cloud/outbox"
	"vendline/shared/wire"
)

// books keep pending orders, and what was said of them.
type books struct {
	mu      sync.Mutex
	pending map[string]order.Order
	refused map[string]wire.Code
	placed  map[string]bool
	deleted []string
	buried  int

	admit  func(o order.Order) error // before an order is placed
	remove error                     // of Delete
	atOnce int
	most   int
}

var now = time.UnixMilli(1_800_000_000_000)

func newBooks(n int) *books {
	b := &books{pending: map[string]order.Order{}, refused: map[string]wire.Code{}, placed: map[string]bool{}}
	for i := range n {
		id := fmt.Sprint("o", i)
		b.pending[id] = order.Order{ID: id, Status: order.Init, Intent: &order.Intent{DecideBy: now.Add(time.Minute)}}
	}
	return b
}

func (b *books) row() outbox.Row {
	var what outbox.Intents
	for id := range b.pending {
		what.IDs = append(what.IDs, id)
	}
	payload, _ := json.Marshal(what) // strings
	return outbox.Row{ID: "row", Payload: payload}
}

func (b *books) runner() *intent.Runner {
	return &intent.Runner{Orders: b, Ledger: b, Clock: func() time.Time { return now }}
}

func (b *books) Admit(_ context.Context, o order.Order) error {
	b.mu.Lock()
	b.atOnce++
	b.most = max(b.most, b.atOnce)
	b.mu.Unlock()
	var err error
	if b.admit != nil {
		err = b.admit(o)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.atOnce--
	if err != nil {
		return err
	}
	if b.placed[o.ID] {
		return errors.New("placed twice")
	}
	b.placed[o.ID] = true
	delete(b.pending, o.ID)
	return nil
}

func (b *books) Pending(_ context.Context, ids ...string) (out []order.Order, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if o, ok := b.pending[id]; ok {
			out = append(out, o)
		}
	}
	return out, nil
}

func (b *books) Refuse(_ context.Context, r *order.Refused) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.pending[r.ID]; !ok {
		return &order.StateError{}
	}
	delete(b.pending, r.ID)
	b.refused[r.ID] = r.Code
	return nil
}

func (b *books) Delete(_ context.Context, ids ...string) error {
	if b.remove != nil {
		return b.remove
	}
	b.deleted = append(b.deleted, ids...)
	return nil
}

func (b *books) Bury(context.Context, string, string, []byte, map[string]string) error {
	b.buried++
	return nil
}

func TestARowGoesWhenAllItsOrdersAreDecided(t *testing.T) {
	b := newBooks(100)
	b.admit = func(o order.Order) error {
		switch o.ID {
		case "o1":
			return &order.Refusal{Code: wire.CodeStockShort}
		case "o2":
			return &order.Refusal{Code: wire.CodePurchaseLimit}
		}
		return nil
	}
	r := b.runner()
	r.Most = 8
	if err := r.Carry(t.Context(), []outbox.Row{b.row()}); err != nil {
		t.Fatal(err)
	}
	if len(b.placed) != 98 || b.refused["o1"] != wire.CodeStockShort || b.refused["o2"] != wire.CodePurchaseLimit || len(b.deleted) != 1 {
		t.Errorf("%d placed, refused %v, deleted %v", len(b.placed), b.refused, b.deleted)
	}
	if b.most > 8 {
		t.Errorf("%d at once", b.most)
	}
	if c := &r.Counters; c.Placed.Load() != 98 || c.Short.Load() != 1 || c.Limited.Load() != 1 {
		t.Errorf("counted %d %d %d", c.Placed.Load(), c.Short.Load(), c.Limited.Load())
	}
}

// What is not known, and what may be cured by waiting, is tried again: by the
// next process, if this one died.
func TestARowStaysWhileAnOrderIsNotDecided(t *testing.T) {
	for name, no := range map[string]error{
		"unknown": errors.New("the connection is lost"), "fenced": &order.Refusal{Code: wire.CodeFenced}, "away": &order.Refusal{Code: wire.CodeUnavailable},
	} {
		b := newBooks(3)
		row := b.row()
		b.admit = func(o order.Order) error {
			if o.ID == "o1" {
				return no
			}
			return nil
		}
		if err := b.runner().Carry(t.Context(), []outbox.Row{row}); err == nil || len(b.deleted) > 0 || len(b.placed) != 2 || len(b.refused) > 0 {
			t.Errorf("%s: %v, deleted %v, placed %v, refused %v", name, err, b.deleted, b.placed, b.refused)
		}
		b.admit = nil
		if err := b.runner().Carry(t.Context(), []outbox.Row{row}); err != nil || len(b.deleted) != 1 || len(b.placed) != 3 {
			t.Errorf("%s, again: %v, deleted %v, placed %v", name, err, b.deleted, b.placed)
		}
	}
}

func TestDiedBeforeTheRowWasRemoved(t *testing.T) {
	b := newBooks(3)
	row := b.row()
	b.remove = errors.New("the process is gone")
	if err := b.runner().Carry(t.Context(), []outbox.Row{row}); err == nil || len(b.placed) != 3 {
		t.Fatalf("%v, placed %v", err, b.placed)
	}
	b.remove = nil
	b.admit = func(o order.Order) error { return fmt.Errorf("%s is tried again", o.ID) }
	if err := b.runner().Carry(t.Context(), []outbox.Row{row}); err != nil || len(b.deleted) != 1 {
		t.Errorf("%v, deleted %v", err, b.deleted)
	}
}

func TestPatienceEnds(t *testing.T) {
	b := newBooks(2)
	row := b.row()
	late := b.pending["o1"]
	late.Intent = &order.Intent{DecideBy: now}
	b.pending["o1"] = late
	if err := b.runner().Carry(t.Context(), []outbox.Row{row}); err != nil || b.refused["o1"] != wire.CodeOverloaded || !b.placed["o0"] || b.placed["o1"] {
		t.Errorf("%v, refused %v, placed %v", err, b.refused, b.placed)
	}
}

func TestWhatSomebodyElseDecidedIsLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		gone bool
		want wire.Code
	}{
		"placed elsewhere":          {&order.StateError{}, true, ""},
		"refused elsewhere":         {order.ErrExists, true, ""},
		"released, yet not decided": {order.ErrExists, false, wire.CodeOrderReleased},
	} {
		b := newBooks(1)
		row := b.row()
		b.admit = func(o order.Order) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if c.gone {
				delete(b.pending, o.ID)
			}
			return c.err
		}
		if err := b.runner().Carry(t.Context(), []outbox.Row{row}); err != nil || len(b.deleted) != 1 || b.refused["o0"] != c.want {
			t.Errorf("%s: %v, deleted %v, refused %v", name, err, b.deleted, b.refused)
		}
	}
}

func TestARowThatCannotBeReadIsBuried(t *testing.T) {
	b := newBooks(0)
	if err := b.runner().Carry(t.Context(), []outbox.Row{{ID: "bad", Payload: []byte("{")}}); err != nil || b.buried != 1 || len(b.deleted) != 1 {
		t.Errorf("%v, buried %d, deleted %v", err, b.buried, b.deleted)
	}
}
