package dispense

import (
	"context"
	"fmt"
	"testing"
	"time"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/edge/standin/powercut"
	"vendline/shared/wire"
)

func TestMain(m *testing.M) { powercut.Main(m, live) }

// rig is a journal on a real outbox, with a clock that the test moves.
type rig struct {
	*Journal
	t    *testing.T
	box  *outbox.Outbox
	mono time.Duration
	asks int
}

func openRig(t *testing.T, dir string, opt Options) *rig {
	t.Helper()
	return openBox(t, outbox.Options{Dir: dir, Cabinet: "C001"}, opt)
}

func openBox(t *testing.T, box outbox.Options, opt Options) *rig {
	t.Helper()
	r := &rig{t: t}
	var err error
	if r.box, err = outbox.Open(context.Background(), box); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.box.Close() })
	opt.Mono = func() time.Duration { return r.mono }
	if r.Journal, err = Open(r.box, opt); err != nil {
		t.Fatal(err)
	}
	return r
}

// restart closes the outbox and begins a new process, whose clock starts at 0.
func (r *rig) restart(dir string, opt Options) *rig {
	r.t.Helper()
	if err := r.box.Close(); err != nil {
		r.t.Fatal(err)
	}
	return openRig(r.t, dir, opt)
}

// ask sends a question now.
func (r *rig) ask() string {
	r.asks++
	id := uuid(9000 + r.asks)
	r.Journal.asks.put(id, r.mono)
	return id
}

func (r *rig) answer(ask string, list ...wire.Vend) {
	r.t.Helper()
	if _, err := r.Answer(context.Background(), wire.Command{Ask: ask, Dispense: list}); err != nil {
		r.t.Fatal(err)
	}
}

// offer asks and is answered at once.
func (r *rig) offer(list ...wire.Vend) {
	r.t.Helper()
	r.answer(r.ask(), list...)
}

// next is the id of what is handed out, or "".
func (r *rig) next() string {
	r.t.Helper()
	c, ok, err := r.Next(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	if ok != (c.ID != "") || ok && c.State != Dispensing {
		r.t.Fatalf("handed out %+v, %v", c, ok)
	}
	return c.ID
}

func (r *rig) sweep() {
	r.t.Helper()
	if err := r.Sweep(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) state(id string) State {
	r.t.Helper()
	c, err := r.Get(id)
	if err != nil {
		r.t.Fatal(err)
	}
	return c.State
}

// reports are what the outbox holds on a command, in order.
func (r *rig) reports(id string) (list []wire.Dispense) {
	r.t.Helper()
	rows, err := r.box.Pending(0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, row := range rows {
		if row.Fact != nil && row.Fact.Dispense != nil && row.Fact.Dispense.Command == id {
			list = append(list, *row.Fact.Dispense)
			if want := ident.OfResult(id, len(list)); row.ID != want {
				r.t.Errorf("report %d on %s has id %s, want %s", len(list), id, row.ID, want)
			}
		}
	}
	return list
}

// said is one report in few words: "cola dispensed 2, water failed 0".
func said(d wire.Dispense) (s string) {
	for i, l := range d.Lines {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s %s %d", l.SKU, l.State, l.Units)
	}
	return s
}

func uuid(n int) string {
	return ident.Format([16]byte{0: 1, 6: 0x40, 8: 0x80, 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)})
}

// vend is a command for two cola and a water that lives for life.
func vend(n int, life time.Duration) wire.Vend {
	return wire.Vend{ID: uuid(n), Order: uuid(1000 + n), ExpiresIn: life.Milliseconds(),
		Lines: []wire.Line{{SKU: "cola", Qty: 2}, {SKU: "water", Qty: 1}}}
}

func units(n int) *int { return &n }
