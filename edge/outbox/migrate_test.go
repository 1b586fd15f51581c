package outbox

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"vendline/shared/wire"
)

const schema0Epoch = "11111111-2222-4333-8444-555555555555"

// writeSchema0 makes a file as the first agents wrote it: an epoch, and rows
// that are whole events as JSON.
func writeSchema0(t *testing.T, dir string, rows int) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, fileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(func(tx *bolt.Tx) error {
		m, err := tx.CreateBucket([]byte("meta"))
		if err != nil {
			return err
		}
		if err := m.Put([]byte("epoch"), []byte(schema0Epoch)); err != nil {
			return err
		}
		b, err := tx.CreateBucket([]byte("rows"))
		if err != nil {
			return err
		}
		for n := 1; n <= rows; n++ {
			seq, err := b.NextSequence()
			if err != nil {
				return err
			}
			e := orderEntry(id(n), 1+n%9)
			v, err := json.Marshal(wire.Event{V: 1, ID: e.ID, Cabinet: "C001", Epoch: schema0Epoch, Seq: int64(seq), At: e.At, Order: e.Order})
			if err != nil {
				return err
			}
			if err := b.Put(key(int64(seq)), v); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAnUpgradeReadsTheOldFileAndDeliversIt(t *testing.T) {
	dir := t.TempDir()
	writeSchema0(t, dir, 1203)
	o := open(t, Options{Dir: dir})
	rows := pending(t, o)
	if len(rows) != 1203 || o.Depth() != 1203 || o.Epoch() != schema0Epoch || o.Gap() {
		t.Fatalf("%d rows, depth %d, epoch %s, gap %v", len(rows), o.Depth(), o.Epoch(), o.Gap())
	}
	for i, r := range rows {
		if r.Bad != nil || r.Seq != int64(i+1) || r.ID != id(i+1) || r.Order.Lines[0].Qty != 1+(i+1)%9 {
			t.Fatalf("row %d: %+v", i, r)
		}
	}
	if r := appendOrder(t, o, id(5), 1+5%9); r.Seq != 5 {
		t.Fatalf("an id of the old file is unknown: %+v", r)
	}
	if r := appendOrder(t, o, id(5000), 1); r.Seq != 1204 {
		t.Fatalf("the epoch goes on at %d", r.Seq)
	}
	settle(t, o, accepted(5, id(5)))
	sound(t, o)
}

func TestAnOldRowIsReadEvenIfItWasNotRewritten(t *testing.T) {
	r := decodeRow(3, wire.Encode(wire.Event{ID: id(1), At: 5, Fact: &wire.Fact{Kind: wire.FactSale, Lines: []wire.Line{{SKU: "a", Qty: 1}}}}))
	if r.Bad != nil || r.Fact.Kind != wire.FactSale || r.Seq != 3 || r.At != 5 {
		t.Fatalf("%+v", r)
	}
}

func TestANewerFileIsLeftAloneWhole(t *testing.T) {
	dir := t.TempDir()
	o := open(t, Options{Dir: dir})
	if err := o.db.Update(func(tx *bolt.Tx) error {
		m, err := readMeta(tx)
		if err != nil {
			return err
		}
		m.Schema = fileSchema + 1
		return writeMeta(tx, m)
	}); err != nil {
		t.Fatal(err)
	}
	closeBox(t, o)
	if _, err := Open(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "schema 3") {
		t.Fatalf("a downgrade opened a newer file: %v", err)
	}
	if len(damagedFiles(t, dir)) != 0 {
		t.Fatal("a newer file was taken for a damaged one")
	}
}

func TestARowOfANewerSchemaIsMarkedAndTheRestIsRead(t *testing.T) {
	if r := decodeRow(1, []byte{9, 'o', 1, 2, 3}); r.Bad == nil || !strings.Contains(r.Bad.Error(), "schema 9") {
		t.Fatalf("%+v", r)
	}
}

// FuzzDecodeRow holds that no bytes on a disk can panic the agent, and that a
// row that reads well is written back to the same bytes.
func FuzzDecodeRow(f *testing.F) {
	good, err := encodeRow(orderEntry(id(1), 2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"id":"x"}`))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, v []byte) {
		r := decodeRow(1, v)
		if r.Bad != nil || v[0] != rowSchema {
			return
		}
		if _, err := encodeRow(r.Entry); err != nil {
			t.Fatal(err)
		}
	})
}
