package dispense_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"vendline/cloud/dispense"
	"vendline/cloud/outbox"
)

// books are commands and their rows in memory, and a cabinet's bell.
type books struct {
	commands  map[string]dispense.Command
	rows      map[string]bool
	abandoned map[string]time.Time
	buried    []string
	woken     []string
	err       error
}

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newBooks(cs ...dispense.Command) *books {
	b := &books{commands: map[string]dispense.Command{}, rows: map[string]bool{}, abandoned: map[string]time.Time{}}
	for _, c := range cs {
		b.commands[c.ID], b.rows[c.ID] = c, true
	}
	return b
}

func (b *books) Commands(_ context.Context, ids []string) (out []dispense.Command, err error) {
	for _, id := range ids {
		if c, ok := b.commands[id]; ok {
			out = append(out, c)
		}
	}
	return out, b.err
}

func (b *books) AbandonCommand(_ context.Context, id string, before time.Time) error {
	b.abandoned[id] = before
	delete(b.rows, id)
	return b.err
}

func (b *books) Delete(_ context.Context, ids ...string) error {
	for _, id := range ids {
		delete(b.rows, id)
	}
	return nil
}

func (b *books) Bury(_ context.Context, _, _ string, payload []byte, _ map[string]string) error {
	b.buried = append(b.buried, string(payload))
	return nil
}

func (b *books) Wake(cabinet string) { b.woken = append(b.woken, cabinet) }

// carry carries rows of commands at some time after the start.
func (b *books) carry(after time.Duration, ids ...string) error {
	rows := make([]outbox.Row, len(ids))
	for i, id := range ids {
		rows[i] = outbox.Row{ID: id, Kind: outbox.KindCommand, Payload: []byte(id)}
	}
	r := dispense.New(dispense.Options{Ledger: b, Publisher: b, Clock: func() time.Time { return start.Add(after) }})
	return r.Carry(context.Background(), rows)
}

func waiting(id, cabinet string) dispense.Command {
	return dispense.Command{ID: id, Cabinet: cabinet, ExpiresAt: start.Add(time.Minute), Waiting: true}
}

func TestACommandThatWaitsWakesItsCabinetOnceAndItsRowStays(t *testing.T) {
	b := newBooks(waiting("a", "C1"), waiting("b", "C2"), waiting("c", "C1"))
	if err := b.carry(time.Second, "a", "b", "c"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.woken, []string{"C1", "C2"}) || len(b.rows) != 3 || len(b.abandoned) != 0 {
		t.Errorf("woken %v, rows %v, abandoned %v", b.woken, b.rows, b.abandoned)
	}
}

func TestASettledCommandsRowGoes(t *testing.T) {
	b := newBooks(dispense.Command{ID: "a", Settled: true, ExpiresAt: start})
	if err := b.carry(time.Hour, "a"); err != nil || len(b.rows) != 0 || len(b.woken) != 0 || len(b.abandoned) != 0 {
		t.Errorf("rows %v, woken %v, abandoned %v, %v", b.rows, b.woken, b.abandoned, err)
	}
}

func TestACommandIsGivenUpOnlyWhenAReportHasHadItsTime(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		over  bool
	}{{59 * time.Second, false}, {61 * time.Second, false}, {149 * time.Second, false}, {150 * time.Second, true}} {
		b := newBooks(waiting("a", "C1"))
		if err := b.carry(c.after, "a"); err != nil {
			t.Fatal(err)
		}
		before, over := b.abandoned["a"]
		if over != c.over || over && !before.Equal(start.Add(c.after-90*time.Second)) {
			t.Errorf("after %s: given up %v, if over at %s", c.after, over, before)
		}
		if late := c.after > time.Minute; late && len(b.woken) > 0 {
			t.Errorf("after %s: woken for what it may not begin any more", c.after)
		}
	}
}

func TestACabinetThatHasSpokenIsNotWoken(t *testing.T) {
	c := waiting("a", "C1")
	c.Waiting = false
	b := newBooks(c)
	if err := b.carry(time.Second, "a"); err != nil || len(b.woken) != 0 || len(b.rows) != 1 {
		t.Errorf("woken %v, rows %v, %v", b.woken, b.rows, err)
	}
}

func TestARowThatNamesNoCommandIsBuried(t *testing.T) {
	b := newBooks(waiting("a", "C1"))
	b.rows["x"] = true
	if err := b.carry(time.Second, "x", "a"); err != nil || !slices.Equal(b.buried, []string{"x"}) || b.rows["x"] || len(b.woken) != 1 {
		t.Errorf("buried %v, rows %v, woken %v, %v", b.buried, b.rows, b.woken, err)
	}
}

func TestWhatFailsComesAgainAndHoldsUpNobody(t *testing.T) {
	away := errors.New("away")
	b := newBooks(waiting("a", "C1"), waiting("b", "C2"))
	b.err = away
	if err := b.carry(time.Second, "a", "b"); !errors.Is(err, away) || len(b.rows) != 2 {
		t.Errorf("rows %v, %v", b.rows, err)
	}
}

// With the ledger's minute to begin, the longest lease and a poll every second,
// a refund is decided in time.
func TestWhatIsPaidAndNotDispensedIsRefundedWithinFiveMinutes(t *testing.T) {
	now, lease := time.Duration(0), dispense.Lease
	b := newBooks(waiting("a", "C1"))
	for len(b.abandoned) == 0 {
		now += lease + time.Second
		lease = min(2*lease, dispense.Longest)
		if err := b.carry(now, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if now > 5*time.Minute {
		t.Errorf("given up after %s", now)
	}
}
