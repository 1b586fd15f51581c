package allowance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/edge/standin/powercut"
	"vendline/shared/wire"
)

func TestMain(m *testing.M) { powercut.Main(m, live) }

// live is granted three cola and sells two.
func live(dir string, hook outbox.Hook) error {
	ctx := context.Background()
	box, err := outbox.Open(ctx, outbox.Options{Dir: dir, Cabinet: "C001", Hook: hook})
	if err != nil {
		return err
	}
	a, err := Open(box)
	if err != nil {
		return err
	}
	if err := a.Grant(ctx, grant("cola", 3), nil); err != nil {
		return err
	}
	powercut.Say("granted")
	for n := 1; n <= 2; n++ {
		if _, err := a.Sell(ctx, sell(n, "cola", 1)); err != nil {
			return err
		}
		powercut.Say("sold")
	}
	if err := a.Grant(ctx, grant("cola", 4), nil); err != nil { // the cloud knows of neither sale
		return err
	}
	return box.Close()
}

func grant(of ...any) (stock []wire.StockLine) {
	for i := 0; i < len(of); i += 2 {
		stock = append(stock, wire.StockLine{SKU: of[i].(string), Allowance: int64(of[i+1].(int))})
	}
	return stock
}

func sell(n int, of ...any) outbox.Entry {
	f := &wire.Fact{Kind: wire.FactSale}
	for i := 0; i < len(of); i += 2 {
		f.Lines = append(f.Lines, wire.Line{SKU: of[i].(string), Qty: of[i+1].(int)})
	}
	return outbox.Entry{ID: uuid(n), Fact: f}
}

func uuid(n int) string {
	return ident.Format([16]byte{6: 0x70, 8: 0x80, 14: byte(n >> 8), 15: byte(n)})
}

type rig struct {
	*Allowance
	t       *testing.T
	box     *outbox.Outbox
	counted *wire.Counted // by the next grants; nil is a cloud that does not say
}

func open(t *testing.T, dir string) *rig {
	t.Helper()
	box, err := outbox.Open(t.Context(), outbox.Options{Dir: dir, Cabinet: "C001"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	a, err := Open(box)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Allowance: a, t: t, box: box}
}

func (r *rig) reopen(dir string) *rig {
	r.t.Helper()
	if err := r.box.Close(); err != nil {
		r.t.Fatal(err)
	}
	return open(r.t, dir)
}

func (r *rig) grant(of ...any) {
	r.t.Helper()
	if err := r.Grant(context.Background(), grant(of...), r.counted); err != nil {
		r.t.Fatal(err)
	}
}

// sells reports whether a sale was allowed.
func (r *rig) sells(n int, of ...any) bool {
	r.t.Helper()
	_, err := r.Sell(context.Background(), sell(n, of...))
	if err != nil && !errors.Is(err, ErrExceeded) {
		r.t.Fatal(err)
	}
	return err == nil
}

func (r *rig) ack(seqs ...int64) {
	r.t.Helper()
	for _, s := range seqs {
		if err := r.box.Settle(context.Background(), []outbox.Answer{{Seq: s}}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) left() (s string) {
	left, known := r.Left()
	if !known {
		return "unknown"
	}
	for _, l := range left {
		s += fmt.Sprintf("%s:%d ", l.SKU, l.Units)
	}
	return strings.TrimSpace(s)
}

func TestNothingIsSoldWithoutAGrantOrBeyondIt(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	if r.left() != "unknown" || r.sells(1, "cola", 1) {
		t.Fatal("sold on nobody's word")
	}
	r.grant("cola", 2, "water", 1)
	if r.sells(2, "cola", 1, "water", 2) || r.left() != "cola:2 water:1" {
		t.Fatalf("a sale that is half allowed took something: %s", r.left())
	}
	if r.sells(3, "beer", 1) {
		t.Fatal("sold what was not granted")
	}
	if !r.sells(4, "cola", 2, "water", 1) || r.sells(5, "cola", 1) || r.left() != "cola:0 water:0" {
		t.Fatalf("left %s", r.left())
	}
	if r = r.reopen(dir); r.left() != "cola:0 water:0" || r.sells(6, "cola", 1) {
		t.Fatalf("a restart gave something back: %s", r.left())
	}
	r.grant()
	if r.left() != "" || r.sells(7, "cola", 1) {
		t.Fatalf("a grant of nothing: %s", r.left())
	}
}

func TestTheSameSaleIsSoldOnce(t *testing.T) {
	r := open(t, t.TempDir())
	r.grant("cola", 2)
	for range 3 {
		if !r.sells(1, "cola", 1) {
			t.Fatal("a repetition was refused")
		}
	}
	if r.left() != "cola:1" || r.box.Depth() != 1 {
		t.Fatalf("left %s, %d events", r.left(), r.box.Depth())
	}
	if _, err := r.Sell(t.Context(), sell(1, "cola", 2)); !errors.Is(err, outbox.ErrConflict) {
		t.Fatal(err)
	}
	r.ack(1)
	if !r.sells(1, "cola", 1) || r.left() != "cola:1" {
		t.Fatalf("after the acknowledgement: %s", r.left())
	}
}

func TestACrowdSellsTheGrantAndNoMore(t *testing.T) {
	r := open(t, t.TempDir())
	r.grant("cola", 50)
	var sold atomic.Int64
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for n := range 20 {
				if r.sells(1000+w*100+n, "cola", 1) {
					sold.Add(1)
				}
			}
		})
	}
	all.Wait()
	if sold.Load() != 50 || r.left() != "cola:0" || r.box.Depth() != 50 {
		t.Fatalf("sold %d, left %s, %d events", sold.Load(), r.left(), r.box.Depth())
	}
}

func TestANewGrantLosesWhatTheCloudDoesNotKnowOfYet(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	r.grant("cola", 5)
	r.sells(1, "cola", 2)
	r.sells(2, "cola", 1)
	r.grant("cola", 5) // the same one, which waited at the broker
	if r.left() != "cola:2" {
		t.Fatalf("the grant that came late left %s", r.left())
	}
	r.ack(1)
	r = r.reopen(dir)
	r.grant("cola", 3) // knows of the first
	if r.left() != "cola:2" {
		t.Fatalf("left %s", r.left())
	}
	r.ack(2)
	r.grant("cola", 2)
	r.grant("cola", 2)
	if r.left() != "cola:2" {
		t.Fatalf("in the end %s", r.left())
	}
	r.sells(3, "cola", 2)
	r.grant("cola", 1)
	if r.left() != "cola:0" {
		t.Fatalf("less granted than sold: %s", r.left())
	}
}

func TestASaleThatTheCloudCouldNotReadStaysTakenOff(t *testing.T) {
	r := open(t, t.TempDir())
	r.grant("cola", 3)
	r.sells(1, "cola", 1)
	if err := r.box.Park(t.Context(), 1, wire.CodeTooLarge, "test"); err != nil {
		t.Fatal(err)
	}
	r.grant("cola", 3)
	if r.left() != "cola:2" {
		t.Fatalf("left %s", r.left())
	}
}

func TestAGrantThatDoesNotCountAnAcknowledgedSaleLosesIt(t *testing.T) {
	r := open(t, t.TempDir())
	r.grant("cola", 5)
	r.sells(1, "cola", 2)
	r.ack(1)
	r.counted = &wire.Counted{Epoch: r.box.Epoch()} // read before the sale, it overtook nothing but arrives after the ack
	r.grant("cola", 5)
	if r.left() != "cola:3" {
		t.Fatalf("left %s", r.left())
	}
	r.counted = &wire.Counted{Epoch: r.box.Epoch(), Sales: []int64{1}}
	r.grant("cola", 4)
	if r.left() != "cola:4" {
		t.Fatalf("counted: left %s", r.left())
	}
	r.sells(2, "cola", 1)
	r.ack(2)
	r.counted = &wire.Counted{Epoch: "another", From: 9}
	r.grant("cola", 4)
	if r.left() != "cola:3" {
		t.Fatalf("a cloud that has not heard of this outbox: left %s", r.left())
	}
	r.counted = &wire.Counted{Epoch: r.box.Epoch(), From: 3}
	r.grant("cola", 2)
	if r.left() != "cola:2" {
		t.Fatalf("long ago: left %s", r.left())
	}
}

// TestRandomHistoriesNeverOversell has a cloud with a shelf, whose processes hear
// of sales in any order and grant what is left by what is known at that instant,
// and a network that delays, repeats and reorders what they say.
func TestRandomHistoriesNeverOversell(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		r := open(t, t.TempDir())
		const shelf = 20
		type message struct {
			grant   int // units, with
			counted *wire.Counted
			ack     int64 // or a row
		}
		var down []message
		sold, known, unheard := 0, 0, []int64(nil)
		qty, heard := map[int64]int{}, []int64{}
		for n := 1; n <= 80; n++ {
			switch rng.IntN(5) {
			case 0: // a process grants what it believes is there
				c := &wire.Counted{Epoch: r.box.Epoch(), Sales: slices.Sorted(slices.Values(heard))}
				down = append(down, message{grant: shelf - known, counted: c})
			case 1: // one hears of a sale, and says so
				if len(unheard) > 0 {
					i := rng.IntN(min(3, len(unheard)))
					seq := unheard[i]
					unheard = slices.Delete(unheard, i, i+1)
					heard = append(heard, seq)
					known += qty[seq]
					down = append(down, message{ack: seq})
				}
			case 2, 3:
				if len(down) == 0 {
					continue
				}
				i := rng.IntN(len(down))
				m := down[i]
				if m.ack > 0 {
					r.ack(m.ack)
				} else {
					r.counted = m.counted
					r.grant("cola", m.grant)
				}
				if m.ack > 0 || rng.IntN(4) > 0 {
					down = slices.Delete(down, i, i+1)
				}
			default:
				if q := 1 + rng.IntN(4); r.sells(n, "cola", q) {
					sold += q
					qty[int64(len(qty)+1)] = q
					unheard = append(unheard, int64(len(qty)))
				}
			}
			if sold > shelf {
				t.Fatalf("seed %d: sold %d of %d", seed, sold, shelf)
			}
		}
	}
}

func TestAPowerCutNeitherLosesASaleNorSellsItTwice(t *testing.T) {
	for _, die := range append(powercut.Points("grant#1", "offline sale#1", "offline sale#2", "grant#2"), "") {
		t.Run(strings.ReplaceAll(die, "/", " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			promised := strings.Count(strings.Join(powercut.Run(t, dir, die), " "), "sold")
			r := open(t, dir)
			sold := int(r.box.Depth())
			if sold < promised {
				t.Fatalf("%d sales were promised, %d are there", promised, sold)
			}
			granted := 3
			if die == "" || die == "grant/after#2" {
				granted = 4
			}
			if want := fmt.Sprintf("cola:%d", granted-sold); r.left() != want && !(die == "grant/before#1" && r.left() == "unknown") {
				t.Fatalf("left %s, want %s", r.left(), want)
			}
			r.grant("cola", 3)
			for n := 1; n <= 3; n++ { // the firmware asks again under the same ids
				r.sells(n, "cola", 1)
			}
			if r.box.Depth() != 3 || r.left() != "cola:0" || r.sells(4, "cola", 1) {
				t.Fatalf("in the end %d sales, left %s", r.box.Depth(), r.left())
			}
		})
	}
}
