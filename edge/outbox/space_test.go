package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"vendline/edge/ident"
)

func TestAFullOutboxRefusesNewOrdersAndStillDeletes(t *testing.T) {
	t.Parallel()
	o := open(t, Options{Dir: t.TempDir(), MaxSize: minMaxSize})
	fat := func(n int) Entry {
		e := orderEntry(id(n), 1)
		e.Order.User = strings.Repeat("u", 2000)
		return e
	}
	var full error
	n := 0
	for full == nil {
		n++
		if n > 10_000 {
			t.Fatal("never full")
		}
		_, full = o.Append(t.Context(), fat(n))
	}
	if !errors.Is(full, ErrFull) || o.Size() > minMaxSize {
		t.Fatalf("row %d of a file of %d bytes: %v", n, o.Size(), full)
	}
	if r, err := o.Append(t.Context(), fat(1)); err != nil || r.Seq != 1 {
		t.Fatalf("an id that was promised is refused now: %v", err)
	}
	appendFact(t, o, id(20_000)) // it happened: there is still room for it
	for seq := 1; seq < n; seq++ {
		settle(t, o, accepted(int64(seq), id(seq)))
	}
	if _, err := o.Append(t.Context(), fat(n)); err != nil {
		t.Fatalf("room was made, and yet: %v", err)
	}
	sound(t, o)
}

func TestAFullDiskRefusesBeforeAnythingIsPromised(t *testing.T) {
	free := uint64(1 << 30)
	o := open(t, Options{Dir: t.TempDir(), Free: func(string) (uint64, error) { return free, nil }})
	appendOrder(t, o, id(1), 1)
	free = 3 << 20
	if _, err := o.Append(t.Context(), orderEntry(id(2), 1)); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	appendFact(t, o, id(3))
	settle(t, o, accepted(1, id(1)))
	free = 1 << 30
	appendOrder(t, o, id(2), 1)
}

// TestNoSpaceOnCommitCostsTheAppendAndNotTheAnswer has the disk fill up in the
// middle of a commit that carries both.
func TestNoSpaceOnCommitCostsTheAppendAndNotTheAnswer(t *testing.T) {
	var o *Outbox
	tries := 0
	armed := false
	o = open(t, Options{Dir: t.TempDir(), Hook: func(s Step, after bool) error {
		if !armed || after || s != StepCommit {
			return nil
		}
		if tries++; tries == 1 {
			return fmt.Errorf("write outbox.db: %w", syscall.ENOSPC)
		}
		return nil
	}})
	appendOrder(t, o, id(1), 1)
	armed = true
	e := orderEntry(id(2), 1)
	row, err := encodeRow(e)
	if err != nil {
		t.Fatal(err)
	}
	errs := o.trip(context.Background(), []*op{
		{entry: &e, row: row, share: ShareOrder, claim: claim{hash: fingerprint(e)}, id: [16]byte{2}},
		{answers: []Answer{accepted(1, id(1))}},
	})
	if !errors.Is(errs[0], ErrFull) || errs[1] != nil {
		t.Fatalf("append: %v, answer: %v", errs[0], errs[1])
	}
	if o.Depth() != 0 || o.Err() != nil {
		t.Fatalf("depth %d, broken %v", o.Depth(), o.Err())
	}
	appendOrder(t, o, id(2), 1)
	sound(t, o)
}

func TestAMostlyFreeFileIsCompactedAndKeepsItsPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := open(t, Options{Dir: dir, History: 10})
	const rows = 4000
	appendMany(t, o, rows, 1500)
	answers := make([]Answer, 0, rows)
	for n := 1; n <= rows; n++ {
		if n != 77 {
			answers = append(answers, accepted(int64(n), id(n)))
		}
	}
	settle(t, o, answers...)
	grown := o.Size()
	did, err := o.Tidy()
	if err != nil {
		t.Fatal(err)
	}
	if grown >= compactFrom && (!did || o.Size() >= grown/2) {
		t.Fatalf("compacted %v: %d → %d bytes", did, grown, o.Size())
	}
	if grown < compactFrom {
		t.Fatalf("the test's file is only %d bytes", grown)
	}
	sound(t, o)
	if again, err := o.Tidy(); again || err != nil {
		t.Fatalf("compacted twice: %v, %v", again, err)
	}
	epoch := o.Epoch()
	if r := appendOrder(t, o, id(rows+1), 1); r.Seq != rows+1 || r.Epoch != epoch {
		t.Fatalf("the epoch goes on at %+v", r)
	}
	if f, err := o.Lookup(id(77)); err != nil || f.Settled {
		t.Fatalf("the waiting row: %+v, %v", f, err)
	}
	closeBox(t, o)
	if o = open(t, Options{Dir: dir}); o.Depth() != 2 || o.Epoch() != epoch {
		t.Fatalf("after reopening: depth %d", o.Depth())
	}
}

func TestAppendsWaitOutACompaction(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for n := range 50 {
				if _, err := o.Append(context.Background(), orderEntry(id(1000*(w+1)+n), 1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 10 {
		o.swap.Lock()
		if err := o.compact(); err != nil {
			t.Error(err)
		}
		o.swap.Unlock()
	}
	all.Wait()
	if o.Depth() != 200 {
		t.Fatalf("%d of 200 rows", o.Depth())
	}
	sound(t, o)
}

func TestPagesCanBeReleasedWhileRowsAreReadAndWritten(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	appendMany(t, o, 2000, 2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 2001; n < 2100; n++ {
			appendOrder(t, o, id(n), 1)
		}
	}()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		buckets(t, o, func(tx *bolt.Tx) { release(tx) })
		for _, r := range pending(t, o) {
			if r.Bad != nil {
				t.Fatal(r.Bad)
			}
		}
	}
}

func appendMany(t *testing.T, o *Outbox, n, userBytes int) {
	t.Helper()
	ops := make([]*op, n)
	for i := range ops {
		e := orderEntry(id(i+1), 1)
		e.Order.User = strings.Repeat("u", userBytes)
		row, err := encodeRow(e)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := ident.Parse(e.ID)
		ops[i] = &op{entry: &e, row: row, claim: claim{hash: fingerprint(e)}, id: raw}
	}
	errs, err := o.commit(ops)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
