package outbox

import (
	"errors"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"vendline/shared/wire"
)

const stepTest Step = "test"

func TestABookAndItsEventAreOneCommit(t *testing.T) {
	dir := t.TempDir()
	o := open(t, Options{Dir: dir})
	var known bool
	err := o.Write(t.Context(), stepTest, func(tx *Tx) error {
		if _, err := tx.Append(orderEntry(id(1), 1), ShareOwn); err != nil {
			return err
		}
		tx.OnCommit(func() { known = true })
		return tx.Put(BookCommands, []byte("k"), []byte("v"))
	})
	if err != nil || !known {
		t.Fatal(err, known)
	}
	closeBox(t, o)
	o = open(t, Options{Dir: dir})
	if err := o.Read(func(b Books) error {
		if v, err := b.Get(BookCommands, []byte("k")); err != nil || string(v) != "v" {
			t.Errorf("%q, %v", v, err)
		}
		return nil
	}); err != nil || o.Depth() != 1 {
		t.Fatal(err, o.Depth())
	}
	sound(t, o)
}

func TestARefusalBeforeAWriteCostsNobodyElse(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	no := errors.New("no")
	called := false
	e := orderEntry(id(1), 1)
	p := new(op)
	if err := o.prepare(p, e); err != nil {
		t.Fatal(err)
	}
	refused := &op{step: stepTest, work: func(tx *Tx) error { tx.OnCommit(func() { called = true }); return no }}
	errs := o.trip(t.Context(), []*op{refused, p})
	if !errors.Is(errs[0], no) || errs[1] != nil || called || o.Depth() != 1 || o.Err() != nil {
		t.Fatalf("%v, depth %d, called %v, broken %v", errs, o.Depth(), called, o.Err())
	}
}

func TestAnErrorAfterAWriteUndoesIt(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	err := o.Write(t.Context(), stepTest, func(tx *Tx) error {
		if err := tx.Put(BookCommands, []byte("k"), []byte("v")); err != nil {
			return err
		}
		return errors.New("too late")
	})
	if err == nil {
		t.Fatal("accepted")
	}
	buckets(t, o, func(tx *bolt.Tx) {
		if tx.Bucket([]byte(BookCommands)).Get([]byte("k")) != nil {
			t.Error("half of it was kept")
		}
	})
}

func TestAValueWhoseBytesChangedIsNotBelieved(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	if err := o.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(BookPlanogram)).Put([]byte("k"), append(seal([]byte("v")), 'x'))
	}); err != nil {
		t.Fatal(err)
	}
	_ = o.Read(func(b Books) error {
		if _, err := b.Get(BookPlanogram, []byte("k")); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%v", err)
		}
		return nil
	})
}

func TestACountSaysWhichEventsItHasSeen(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	count := func(n int, upto int64) Entry {
		return Entry{ID: id(n), Fact: &wire.Fact{Kind: wire.FactStocktake, Upto: upto, Counts: []wire.Count{{SKU: "cola", Units: n}}}}
	}
	if _, err := o.Append(t.Context(), count(1, 1)); !errors.Is(err, ErrUpto) {
		t.Fatalf("it has seen itself: %v", err)
	}
	appendOrder(t, o, id(2), 1)
	appendOrder(t, o, id(3), 1)
	for range 2 {
		if r, err := o.Append(t.Context(), count(4, 0)); err != nil || r.Seq != 3 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if _, err := o.Append(t.Context(), count(5, 1)); err != nil {
		t.Fatal(err)
	}
	rows := pending(t, o)
	if rows[2].Fact.Upto != 2 || rows[3].Fact.Upto != 1 {
		t.Fatalf("upto %d and %d", rows[2].Fact.Upto, rows[3].Fact.Upto)
	}
	settle(t, o, Answer{Seq: 3})
	if r, err := o.Append(t.Context(), count(4, 0)); err != nil || r.Seq != 3 {
		t.Fatalf("the same count after its answer: %+v, %v", r, err)
	}
	sound(t, o)
}

// writeSchema1 makes a file as agents before the books wrote it.
func writeSchema1(t *testing.T, dir string, rows int) (epoch string) {
	t.Helper()
	o := open(t, Options{Dir: dir})
	appendMany(t, o, rows, 8)
	settle(t, o, accepted(1, id(1)))
	if err := o.db.Update(func(tx *bolt.Tx) error {
		for _, b := range books() {
			if err := tx.DeleteBucket([]byte(b)); err != nil {
				return err
			}
		}
		m, err := readMeta(tx)
		if err != nil {
			return err
		}
		m.Schema = 1
		return writeMeta(tx, m)
	}); err != nil {
		t.Fatal(err)
	}
	closeBox(t, o)
	return o.Epoch()
}

func TestAFileWithoutBooksIsOpenedAndReadOn(t *testing.T) {
	for _, die := range []string{"", "upgrade/before#1", "upgrade/after#1"} {
		t.Run(strings.ReplaceAll(die, "/", " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			epoch := writeSchema1(t, dir, 50)
			if die != "" {
				run(t, dir, die)
			}
			o := open(t, Options{Dir: dir})
			if o.Epoch() != epoch || o.Gap() || o.Depth() != 49 {
				t.Fatalf("epoch %v, gap %v, depth %d", o.Epoch() == epoch, o.Gap(), o.Depth())
			}
			if f, err := o.Lookup(id(1)); err != nil || !f.Settled {
				t.Fatalf("%+v, %v", f, err)
			}
			if err := o.Write(t.Context(), stepTest, func(tx *Tx) error { return tx.Put(BookAllowance, []byte("k"), nil) }); err != nil {
				t.Fatal(err)
			}
			sound(t, o)
		})
	}
}
