package outbox

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// damages are ways in which others have lost a bbolt file.
func damages() map[string]func(data []byte) []byte {
	return map[string]func([]byte) []byte{
		"truncated to nothing": func([]byte) []byte { return nil },
		"truncated in a page":  func(d []byte) []byte { return d[:5000] },
		"truncated by half":    func(d []byte) []byte { return d[:len(d)/2] },
		"both metas flipped": func(d []byte) []byte {
			d[20] ^= 0xff
			d[4096+20] ^= 0xff
			return d
		},
		"zeroed from the third page": func(d []byte) []byte { clear(d[2*4096:]); return d },
		"page headers flipped": func(d []byte) []byte {
			for at := 2 * 4096; at+16 < len(d); at += 4096 {
				d[at+8] ^= 0x55
			}
			return d
		},
		"page counts flipped": func(d []byte) []byte {
			for at := 2 * 4096; at+16 < len(d); at += 4096 {
				d[at+10] ^= 0xff
			}
			return d
		},
		"overflows flipped": func(d []byte) []byte {
			for at := 2 * 4096; at+16 < len(d); at += 4096 {
				d[at+13] ^= 0xff
			}
			return d
		},
		"an overflow of billions": func(d []byte) []byte {
			for at := 2 * 4096; at+16 < len(d); at += 4096 {
				d[at+15] ^= 0xff
			}
			return d
		},
		"not a database": func([]byte) []byte { return bytes.Repeat([]byte("garbage "), 4096) },
	}
}

func TestADamagedFileIsSetAsideAndTheCabinetSellsOn(t *testing.T) {
	for name, damage := range damages() {
		for where, check := range map[string]func(context.Context, string) error{"in process": nil, "in a child": testChild()} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				old, broken := breakFile(t, dir, damage)
				o := open(t, Options{Dir: dir, Check: check, Now: func() time.Time { return time.Unix(0, 0) }})
				if !o.Gap() || o.Epoch() == old {
					t.Fatalf("gap %v, epoch %s after %s", o.Gap(), o.Epoch(), old)
				}
				files := damagedFiles(t, dir)
				if len(files) != 1 || files[0] != o.SetAside() {
					t.Fatalf("set aside: %v, says %q", files, o.SetAside())
				}
				if got, _ := os.ReadFile(files[0]); !bytes.Equal(got, broken) {
					t.Error("the damaged file was changed")
				}
				if r := appendOrder(t, o, id(999), 1); r.Seq != 1 {
					t.Errorf("the new epoch begins at %d", r.Seq)
				}
				closeBox(t, o)
				if o = open(t, Options{Dir: dir}); !o.Gap() || o.SetAside() != "" || o.Depth() != 1 {
					t.Errorf("after a restart: gap %v, set aside %q, depth %d", o.Gap(), o.SetAside(), o.Depth())
				}
			})
		}
	}
}

// TestFlippedBytesNeverStopACabinetOrInventASale flips bytes anywhere. Whatever
// is hit, the outbox opens, and rows are what they were, marked bad, or gone
// with the gap told.
func TestFlippedBytesNeverStopACabinetOrInventASale(t *testing.T) {
	base := t.TempDir()
	_, whole := breakFile(t, base, func(d []byte) []byte { return d })
	rng := rand.New(rand.NewPCG(7, 7))
	for range 40 {
		dir := t.TempDir()
		data := bytes.Clone(whole)
		for range 1 + rng.IntN(8) {
			data[rng.IntN(len(data))] ^= byte(1 + rng.IntN(255))
		}
		if err := os.WriteFile(filepath.Join(dir, fileName), data, 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := Open(t.Context(), Options{Dir: dir, Cabinet: "C001", Check: testChild()})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := o.Pending(0, 1000)
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Bad == nil && (r.Seq < 1 || r.Order == nil || r.Order.Lines[0].Qty != 1 || r.Order.User != "u1") {
				t.Fatalf("a flipped byte became a sale: %+v", r)
			}
		}
		_ = o.Close()
	}
}

func TestARowWhoseBytesChangedIsMarkedAndNotSent(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	appendOrder(t, o, id(1), 2)
	appendOrder(t, o, id(2), 2)
	if err := o.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketRows())
		v := bytes.Replace(b.Get(key(1)), []byte(`"qty":2`), []byte(`"qty":9`), 1)
		return b.Put(key(1), v)
	}); err != nil {
		t.Fatal(err)
	}
	rows := pending(t, o)
	if len(rows) != 2 || !errors.Is(rows[0].Bad, errChecksum) || rows[1].Bad != nil {
		t.Fatalf("%+v", rows)
	}
	if err := o.Park(t.Context(), 1, "internal", "checksum"); err != nil {
		t.Fatal(err)
	}
	if f, err := o.Lookup(id(1)); err != nil || !f.Settled || f.Outcome.Code != "internal" {
		t.Fatalf("the firmware hears %+v, %v", f, err)
	}
	sound(t, o)
}

func TestAFileInUseIsNotDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := open(t, Options{Dir: dir})
	for name, check := range map[string]func(context.Context, string) error{
		"in process": func(_ context.Context, p string) error { return CheckFile(p) }, "in a child": testChild()} {
		if err := check(t.Context(), o.path); !errors.Is(err, ErrLocked) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAChildThatCouldNotRunFindsNothing(t *testing.T) {
	dir := t.TempDir()
	o := open(t, Options{Dir: dir})
	closeBox(t, o)
	if err := CheckInChild(filepath.Join(dir, "no such binary"))(t.Context(), o.path); err != nil {
		t.Fatalf("a sound file was called %v", err)
	}
}

func TestDamageMetInUseIsAnErrorAndIsReported(t *testing.T) {
	o := open(t, Options{Dir: t.TempDir()})
	err := o.view(func(*bolt.Tx) error { panic("page 7: unexpected page type") })
	if !errors.Is(err, ErrDamaged) || !errors.Is(o.Err(), ErrDamaged) {
		t.Fatal(err, o.Err())
	}
	<-o.Broken()
}

func TestAFailedSyncIsNeverRetriedOnTheSameFile(t *testing.T) {
	fail := false
	o := open(t, Options{Dir: t.TempDir(), Hook: func(s Step, after bool) error {
		if fail && s == StepCommit && !after {
			return errors.New("input/output error")
		}
		return nil
	}})
	fail = true
	if _, err := o.Append(t.Context(), orderEntry(id(1), 1)); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	<-o.Broken()
}

// breakFile makes an outbox of some size in dir, damages it, and returns its
// epoch and the damaged bytes.
func breakFile(t *testing.T, dir string, damage func([]byte) []byte) (epoch string, data []byte) {
	t.Helper()
	o := open(t, Options{Dir: dir})
	epoch = o.Epoch()
	for n := 1; n <= 120; n++ {
		appendOrder(t, o, id(n), 1)
	}
	closeBox(t, o)
	path := filepath.Join(dir, fileName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data = damage(data)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return epoch, data
}

// testChild checks in a child, which is this test binary.
func testChild() func(context.Context, string) error {
	return func(ctx context.Context, path string) error {
		env, err := exec.LookPath("env")
		if err != nil {
			return err
		}
		return CheckInChild(env, "OUTBOX_TEST_CHECK="+path, os.Args[0])(ctx, path)
	}
}
