package rocket_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"vendline/cloud/queue/queuetest"
	"vendline/cloud/queue/rocket"
	"vendline/deploy/stack"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func open(t *testing.T, namesrv string, topics ...string) *rocket.Queue {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	q, err := rocket.Open(ctx, namesrv, rocket.Options{Topics: topics, Log: quiet()})
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

// TestContract kills its broker, so it has one of its own.
func TestContract(t *testing.T) {
	if testing.Short() {
		return // the embedded queue passes the same suite
	}
	s := stack.Own(t, stack.Options{RocketMQ: true})
	d, err := s.Description()
	if err != nil {
		t.Fatal(err)
	}
	first := open(t, d.RocketMQ)
	calls := 0
	queuetest.Run(t, queuetest.Target{
		Queue: func(t *testing.T) queuetest.Queue {
			if calls++; calls%2 == 0 { // the second of a test is another process's
				return open(t, d.RocketMQ)
			}
			return first
		},
		Topic: func(t *testing.T) string {
			topic := d.Topic(t, "suite")
			if err := d.CreateTopic(t.Context(), topic, 4); err != nil {
				t.Fatal(err)
			}
			return topic
		},
		Restart: func(t *testing.T, q queuetest.Queue) queuetest.Queue {
			if err := s.Broker.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := s.Broker.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			return q
		},
		Unreachable: func(t *testing.T) queuetest.Queue { return open(t, nowhere(t)) },
	})
}

// nowhere is an address at which nobody listens.
func nowhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprintf("http://%s", l.Addr())
}

func BenchmarkQueue(b *testing.B) {
	d := stack.Need(b)
	q, err := rocket.Open(b.Context(), d.RocketMQ, rocket.Options{Log: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	queuetest.Bench(b, func(*testing.B) queuetest.Queue { return q }, func(b *testing.B) string {
		topic := d.Topic(b, "bench")
		if err := d.CreateTopic(b.Context(), topic, 4); err != nil {
			b.Fatal(err)
		}
		return topic
	})
}
