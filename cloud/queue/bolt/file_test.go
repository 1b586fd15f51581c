package bolt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"vendline/cloud/queue"
	"vendline/cloud/queue/bolt"
)

// A damaged file is set aside and a fresh queue starts, whatever the damage.
func TestDamagedFileIsSetAside(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"not a database": func([]byte) []byte { return []byte("hello, this is no database") },
		"zeroed":         func(b []byte) []byte { return make([]byte, len(b)) },
		"cut short":      func(b []byte) []byte { return b[:len(b)/2] },
		"cut in pages":   func(b []byte) []byte { return b[:5*os.Getpagesize()] },
		"flipped pages": func(b []byte) []byte {
			for i := 2 * os.Getpagesize(); i < len(b); i++ {
				b[i] ^= 0xff
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "queue.db")
			q := open(t, path)
			for i := range 200 {
				if err := q.Send(t.Context(), queue.Message{Topic: "t", Key: fmt.Sprint(i), Body: make([]byte, 1000)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := q.Close(); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
			q = open(t, path)
			if err := q.Send(t.Context(), queue.Message{Topic: "t", Key: "k", Body: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			aside, err := filepath.Glob(path + ".damaged-*")
			if err != nil || len(aside) != 1 {
				t.Errorf("set aside: %v, %v", aside, err)
			}
		})
	}
}

// Somebody else's open file is not damage.
func TestLockedFileIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.db")
	open(t, path)
	if q, err := bolt.Open(path, bolt.Options{Log: quiet()}); err == nil {
		t.Error("a file in use was opened twice", q.Close())
	}
	if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) != 0 {
		t.Errorf("a file in use was set aside: %v", aside)
	}
}

// The file is bounded by the backlog, not by what ever passed through it.
func TestFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.db")
	q := open(t, path)
	var handled atomic.Int64
	stop, err := q.Receive(t.Context(), "t", "g", func(_ context.Context, msgs []queue.Message) error {
		handled.Add(int64(len(msgs)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	const rounds, each, size = 60, 64, 16 << 10
	for range rounds {
		msgs := make([]queue.Message, each)
		for i := range msgs {
			msgs[i] = queue.Message{Topic: "t", Body: make([]byte, size)}
		}
		if err := q.Send(t.Context(), msgs...); err != nil {
			t.Fatal(err)
		}
		for { // drained, or the backlog would be what is measured
			n, err := q.Depth(t.Context(), "t", "g")
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if passed := int64(rounds * each * size); info.Size() > passed/4 {
		t.Errorf("%d bytes passed and the file has %d", passed, info.Size())
	}
}

// Delays follow the clock that was passed in.
func TestDelayFollowsTheClock(t *testing.T) {
	var offset atomic.Int64
	start := time.Now()
	now := func() time.Time { return start.Add(time.Duration(offset.Load())) }
	q, err := bolt.Open(filepath.Join(t.TempDir(), "queue.db"), bolt.Options{Now: now, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	came := make(chan string, 2)
	stop, err := q.Receive(t.Context(), "t", "g", func(_ context.Context, msgs []queue.Message) error {
		for _, m := range msgs {
			came <- m.Key
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	err = q.Send(t.Context(),
		queue.Message{Topic: "t", Key: "hour", DeliverAt: start.Add(time.Hour)},
		queue.Message{Topic: "t", Key: "minute", DeliverAt: start.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	offset.Store(int64(time.Minute + time.Millisecond)) // due times are rounded up
	if key := <-came; key != "minute" {
		t.Errorf("%s came first", key)
	}
	offset.Store(int64(time.Hour + time.Millisecond))
	if key := <-came; key != "hour" {
		t.Errorf("%s came second", key)
	}
}
