package dispense

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// TestAResultAlwaysFits fills the outbox with whatever it will take while
// commands are under way, and then tells their results.
func TestAResultAlwaysFits(t *testing.T) {
	r := openBox(t, outbox.Options{Dir: t.TempDir(), Cabinet: "C001", MaxSize: 4 << 20}, Options{})
	const commands = 12
	var list []wire.Vend
	for n := range commands {
		v := vend(n, time.Hour)
		v.Lines = nil
		for i := range wire.MaxLines {
			v.Lines = append(v.Lines, wire.Line{SKU: strings.Repeat("s", 60) + string(rune('A'+i/26)) + string(rune('a'+i%26)), Qty: 1})
		}
		list = append(list, v)
	}
	r.offer(list...)
	for range commands / 2 {
		r.next()
	}
	fill(t, r.box, outbox.KindOrder)
	fill(t, r.box, outbox.KindFact)
	if _, err := r.Answer(t.Context(), wire.Command{Ask: r.ask(), Dispense: []wire.Vend{vend(500, time.Hour)}}); !errors.Is(err, outbox.ErrFull) {
		t.Fatalf("a command without room for its result was taken: %v", err)
	}
	handed := commands / 2
	for r.next() != "" {
		handed++
	}
	if handed != commands {
		t.Fatalf("%d of %d, though their room was set apart", handed, commands)
	}
	detail := strings.Repeat("\x01", wire.MaxDetail) // six bytes each in JSON
	for _, v := range list {
		var results []Result
		for _, l := range v.Lines {
			results = append(results, Result{SKU: l.SKU, State: wire.Failed, Detail: detail})
		}
		if _, err := r.Result(t.Context(), v.ID, results, false); err != nil {
			t.Fatal(err)
		}
	}
}

// fill appends until the outbox is full for kind.
func fill(t *testing.T, box *outbox.Outbox, kind outbox.Kind) {
	t.Helper()
	for n := 0; n < 100_000; n++ {
		e := outbox.Entry{ID: uuid(100_000*int(kind) + n)}
		if kind == outbox.KindOrder {
			e.Order = &wire.Order{User: strings.Repeat("u", 8000), Lines: []wire.Line{{SKU: "a", Qty: 1}}}
		} else {
			e.Fact = &wire.Fact{Kind: wire.FactSlotFault, Slot: "A1", Fault: strings.Repeat("x", 2000)}
		}
		_, err := box.Append(context.Background(), e)
		if errors.Is(err, outbox.ErrFull) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("never full")
}

func TestNothingIsHandedOutWhenTheDiskHasNoRoomForItsResult(t *testing.T) {
	free := uint64(1 << 30)
	r := openBox(t, outbox.Options{Dir: t.TempDir(), Cabinet: "C001", Free: func(string) (uint64, error) { return free, nil }}, Options{})
	r.offer(vend(1, time.Hour))
	free = 1 << 20
	if _, _, err := r.Next(t.Context()); !errors.Is(err, outbox.ErrFull) {
		t.Fatalf("a sale that could not be told: %v", err)
	}
	free = 1 << 30
	if got := r.next(); got != uuid(1) {
		t.Fatalf("then: %q", got)
	}
}

func TestWhatWasSetApartIsGivenBackAndSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	r := openRig(t, dir, Options{})
	r.offer(vend(1, time.Hour), vend(2, time.Hour), vend(3, 0))
	apart := r.box.Reserved()
	if apart <= 0 {
		t.Fatal("nothing was set apart")
	}
	r = r.restart(dir, Options{})
	if r.box.Reserved() != apart {
		t.Fatalf("%d bytes, before the restart %d", r.box.Reserved(), apart)
	}
	r.mono = 2 * time.Hour
	r.sweep()
	if r.box.Reserved() != 0 {
		t.Fatalf("%d bytes for no command", r.box.Reserved())
	}
}
