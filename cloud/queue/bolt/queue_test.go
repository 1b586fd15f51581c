package bolt_test

import (
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"vendline/cloud/queue/bolt"
	"vendline/cloud/queue/queuetest"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func open(t *testing.T, path string) *bolt.Queue {
	t.Helper()
	q, err := bolt.Open(path, bolt.Options{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}

func TestContract(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.db")
	q := open(t, path)
	var topics atomic.Int64
	queuetest.Run(t, queuetest.Target{
		Queue: func(*testing.T) queuetest.Queue { return q },
		Topic: func(*testing.T) string { return "topic" + strconv.FormatInt(topics.Add(1), 10) },
		Restart: func(st *testing.T, _ queuetest.Queue) queuetest.Queue {
			if err := q.Close(); err != nil {
				st.Error(err)
			}
			q = open(t, path)
			return q
		},
		Unreachable: func(t *testing.T) queuetest.Queue {
			q := open(t, filepath.Join(t.TempDir(), "closed.db"))
			if err := q.Close(); err != nil {
				t.Error(err)
			}
			return q
		},
	})
}

func BenchmarkQueue(b *testing.B) {
	var topics atomic.Int64
	queuetest.Bench(b, func(b *testing.B) queuetest.Queue {
		q, err := bolt.Open(filepath.Join(b.TempDir(), "queue.db"), bolt.Options{Log: quiet()})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = q.Close() })
		return q
	}, func(*testing.B) string { return "bench" + strconv.FormatInt(topics.Add(1), 10) })
}
