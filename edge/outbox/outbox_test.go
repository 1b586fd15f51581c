package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"vendline/edge/ident"
	"vendline/shared/wire"
)

// TestMain lets this binary be the child that a test kills or asks for a check.
func TestMain(m *testing.M) {
	if code, isChild := child(); isChild {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestAnAppendIsThereAfterReopening(t *testing.T) {
	dir := t.TempDir()
	o := open(t, Options{Dir: dir})
	want := appendOrder(t, o, id(1), 2)
	if want.Seq != 1 || want.Epoch != o.Epoch() {
		t.Fatalf("first receipt is %+v", want)
	}
	closeBox(t, o)

	o = open(t, Options{Dir: dir})
	rows := pending(t, o)
	if len(rows) != 1 || rows[0].ID != want.ID || rows[0].Seq != 1 || rows[0].Order.Lines[0].Qty != 2 {
		t.Fatalf("after reopening: %+v", rows)
	}
	if o.Epoch() != want.Epoch || o.Gap() || o.Depth() != 1 {
		t.Fatalf("epoch %s gap %v depth %d", o.Epoch(), o.Gap(), o.Depth())
	}
	if got := appendOrder(t, o, id(2), 1); got.Seq != 2 {
		t.Fatalf("seq goes on at %d", got.Seq)
	}
}

func TestTheFileIsSyncedOnEveryCommit(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	if o.db.NoSync || o.db.NoGrowSync {
		t.Fatal("commits would not reach the disk")
	}
}

func TestTheSameIDIsTheSameEvent(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			r, err := o.Append(context.Background(), orderEntry(id(1), 2))
			if err != nil || r.Seq != 1 {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
	all.Wait()
	if _, err := o.Append(t.Context(), orderEntry(id(1), 3)); !errors.Is(err, ErrConflict) {
		t.Fatalf("other basket under the same id: %v", err)
	}
	fact := Entry{ID: id(1), Fact: &wire.Fact{Kind: wire.FactSale, Lines: orderEntry(id(1), 2).Order.Lines}}
	if _, err := o.Append(t.Context(), fact); !errors.Is(err, ErrConflict) {
		t.Fatalf("fact under an order's id: %v", err)
	}
	settle(t, o, accepted(1, id(1)))
	if r := appendOrder(t, o, id(1), 2); r.Seq != 1 || o.Depth() != 0 {
		t.Fatalf("after the verdict: %+v, %d rows", r, o.Depth())
	}
}

func TestARowStaysUntilItsOwnAnswer(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	appendOrder(t, o, id(1), 1)
	appendFact(t, o, id(2))
	settle(t, o, accepted(1, id(9)))    // another order's verdict
	settle(t, o, Answer{Seq: 77})       // of no row
	settle(t, o, accepted(2, id(2222))) // a verdict for the wrong id
	if o.Depth() != 2 {
		t.Fatalf("%d rows left of 2", o.Depth())
	}
	settle(t, o, accepted(1, id(1)), Answer{Seq: 2})
	if o.Depth() != 0 || len(pending(t, o)) != 0 {
		t.Fatal("answered rows are still there")
	}
	for _, n := range []int{1, 2} {
		f, err := o.Lookup(id(n))
		if err != nil || !f.Settled || f.Outcome.Code != wire.Accepted || f.Seq != int64(n) {
			t.Fatalf("id %d: %+v, %v", n, f, err)
		}
	}
}

func TestARefusalIsRememberedWithItsReason(t *testing.T) {
	dir := t.TempDir()
	o := open(t, Options{Dir: dir})
	appendOrder(t, o, id(1), 1)
	short := []wire.Shortage{{SKU: "cola", Want: 1, Have: 0}}
	settle(t, o, Answer{Seq: 1, Verdict: &wire.Verdict{ID: id(1), Code: wire.CodeStockShort, Short: short}})
	closeBox(t, o)
	o = open(t, Options{Dir: dir})
	f, err := o.Lookup(id(1))
	if err != nil || !f.Settled || f.Outcome.Code != wire.CodeStockShort || f.Outcome.Short[0] != short[0] || o.Parked() != 0 {
		t.Fatalf("%+v, %v", f, err)
	}
}

func TestAHoldsRemainingLifeIsNeverOverstated(t *testing.T) {
	dir, now := t.TempDir(), time.Hour
	opt := Options{Dir: dir, Mono: func() time.Duration { return now }}
	o := open(t, opt)
	appendOrder(t, o, id(1), 1)
	settle(t, o, Answer{Seq: 1, Verdict: &wire.Verdict{ID: id(1), Code: wire.Accepted, ExpiresIn: 60_000}})
	now += 25 * time.Second
	if f, _ := o.Lookup(id(1)); f.Outcome.ExpiresIn != 35_000 {
		t.Fatalf("after 25 s: %d ms", f.Outcome.ExpiresIn)
	}
	closeBox(t, o)
	o = open(t, opt)
	if f, err := o.Lookup(id(1)); err != nil || f.Outcome.ExpiresIn != 0 {
		t.Fatalf("after a restart nobody knows: %d ms, %v", f.Outcome.ExpiresIn, err)
	}
}

func TestTheHistoryOfAnswersIsBoundedByCount(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir(), History: 3})
	for n := 1; n <= 5; n++ {
		appendOrder(t, o, id(n), 1)
	}
	for _, n := range []int{2, 3, 4, 5, 1} { // an old row answered last is young
		settle(t, o, accepted(int64(n), id(n)))
	}
	for n, want := range map[int]bool{1: true, 2: false, 3: false, 4: true, 5: true} {
		if _, err := o.Lookup(id(n)); (err == nil) != want {
			t.Errorf("id %d known: %v, want %v", n, err, want)
		}
	}
	buckets(t, o, func(tx *bolt.Tx) {
		if n := tx.Bucket(bucketIDs()).Stats().KeyN; n != 3 {
			t.Errorf("%d ids left behind, want 3", n)
		}
	})
}

func TestAParkedRowLeavesAReasonAndTheRestFlows(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	appendOrder(t, o, id(1), 1)
	appendOrder(t, o, id(2), 1)
	appendOrder(t, o, id(3), 1)
	if err := o.Park(t.Context(), 1, wire.CodeTooLarge, "message of 70000 bytes"); err != nil {
		t.Fatal(err)
	}
	settle(t, o, Answer{Seq: 2, Verdict: &wire.Verdict{ID: id(2), Code: wire.CodeUnsupported, Detail: "v2"}})
	settle(t, o, Answer{Seq: 3}) // an order that is acked was not readable
	stones, err := o.Tombstones(10)
	if err != nil || len(stones) != 3 || o.Parked() != 3 || o.Depth() != 0 {
		t.Fatalf("%+v, %v; parked %d, waiting %d", stones, err, o.Parked(), o.Depth())
	}
	for i, want := range []string{"without a verdict", "unsupported_version", "70000 bytes"} {
		if !strings.Contains(stones[i].Reason, want) || stones[i].Bytes == 0 {
			t.Errorf("tombstone %d: %+v, want %q", i, stones[i], want)
		}
	}
	if f, _ := o.Lookup(id(1)); !f.Settled || f.Outcome.Code != wire.CodeTooLarge {
		t.Errorf("the firmware hears %+v", f)
	}
}

func TestWhoWatchesHearsOfTheVerdict(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	appendOrder(t, o, id(1), 1)
	settled, stop := o.Watch(id(1))
	defer stop()
	_, stopOther := o.Watch(id(1))
	stopOther()
	settle(t, o, accepted(1, id(1)))
	<-settled
	if len(o.watch.of) != 0 {
		t.Fatal("watchers are left behind")
	}
}

func TestAnEventOverTheMessageLimitIsRefusedAtTheDoor(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	e := orderEntry(id(1), 1)
	e.Order.User = strings.Repeat("u", wire.MaxMessage)
	if _, err := o.Append(t.Context(), e); !errors.Is(err, ErrTooLarge) || o.Depth() != 0 {
		t.Fatal(err)
	}
}

func TestASecondProcessIsKeptOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, Options{Dir: dir})
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Fatalf("opened twice: %v", err)
	}
}

func TestOldestAgeIgnoresTheWallClock(t *testing.T) {
	now := time.Minute
	o := open(t, Options{Dir: t.TempDir(), Mono: func() time.Duration { return now },
		Now: func() time.Time { return time.Unix(0, 0) }})
	if o.OldestAge() != 0 {
		t.Fatal("an empty outbox has an age")
	}
	appendOrder(t, o, id(1), 1)
	now += time.Hour
	appendOrder(t, o, id(2), 1)
	now += time.Minute
	if age := o.OldestAge(); age != time.Hour+time.Minute {
		t.Fatalf("oldest waits for %v", age)
	}
	settle(t, o, accepted(1, id(1)))
	if age := o.OldestAge(); age != time.Minute {
		t.Fatalf("then %v", age)
	}
}

func open(t *testing.T, opt Options) *Outbox {
	t.Helper()
	if opt.Cabinet == "" {
		opt.Cabinet = "C001"
	}
	o, err := Open(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// closeBox closes o now; the cleanup's second close then finds it closed.
func closeBox(t *testing.T, o *Outbox) {
	t.Helper()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

func id(n int) string {
	var b [16]byte
	b[0], b[6], b[14], b[15] = 0x01, 0x70, byte(n>>8), byte(n)
	return ident.Format(b)
}

func orderEntry(id string, qty int) Entry {
	return Entry{ID: id, At: 1_700_000_000_000, Order: &wire.Order{User: "u1", Lines: []wire.Line{{SKU: "cola", Qty: qty}}}}
}

func appendOrder(t *testing.T, o *Outbox, id string, qty int) Receipt {
	t.Helper()
	r, err := o.Append(context.Background(), orderEntry(id, qty))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func appendFact(t *testing.T, o *Outbox, id string) {
	t.Helper()
	e := Entry{ID: id, Fact: &wire.Fact{Kind: wire.FactRestock, Lines: []wire.Line{{SKU: "cola", Qty: 10}}}}
	if _, err := o.Append(context.Background(), e); err != nil {
		t.Fatal(err)
	}
}

func accepted(seq int64, id string) Answer {
	return Answer{Seq: seq, Verdict: &wire.Verdict{ID: id, Code: wire.Accepted}}
}

func settle(t *testing.T, o *Outbox, answers ...Answer) {
	t.Helper()
	if err := o.Settle(context.Background(), answers); err != nil {
		t.Fatal(err)
	}
}

func pending(t *testing.T, o *Outbox) []Row {
	t.Helper()
	rows, err := o.Pending(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func buckets(t *testing.T, o *Outbox, look func(*bolt.Tx)) {
	t.Helper()
	if err := o.view(func(tx *bolt.Tx) error { look(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

// sound fails t unless the file's structure, counters and rows agree.
func sound(t *testing.T, o *Outbox) {
	t.Helper()
	buckets(t, o, func(tx *bolt.Tx) {
		if err := structure(tx); err != nil {
			t.Errorf("structure: %v", err)
		}
		m, err := readMeta(tx)
		if err != nil {
			t.Errorf("meta: %v", err)
		}
		rows := tx.Bucket(bucketRows())
		if n := int64(rows.Stats().KeyN); n != m.Depth || n != o.Depth() {
			t.Errorf("%d rows, meta says %d, memory %d", n, m.Depth, o.Depth())
		}
		_ = rows.ForEach(func(k, v []byte) error {
			if r := decodeRow(number(k), v); r.Bad != nil {
				t.Errorf("row %d: %v", number(k), r.Bad)
			}
			return nil
		})
	})
}

func damagedFiles(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, fileName+damagedMark+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func note(format string, args ...any) { fmt.Printf(format+"\n", args...) }
