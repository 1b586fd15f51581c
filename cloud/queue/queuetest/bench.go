package queuetest

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"vendline/cloud/queue"
)

// Bench measures an adapter: sending alone, through to the handler, and the
// way of a single message through a queue that is otherwise idle.
func Bench(b *testing.B, open func(b *testing.B) Queue, topic func(b *testing.B) string) {
	body := make([]byte, 600) // a stock message of a few orders
	b.Run("send, 16 callers", func(b *testing.B) {
		q, topic := open(b), topic(b)
		var n atomic.Int64
		b.SetParallelism(8)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := q.Send(b.Context(), queue.Message{Topic: topic, Shard: int(n.Add(1)), Body: body}); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	})
	b.Run("through, batches of 64", func(b *testing.B) {
		q, topic := open(b), topic(b)
		var got atomic.Int64
		done := make(chan struct{})
		want := int64(b.N) * 64
		stop, err := q.Receive(b.Context(), topic, topic+"-g", func(_ context.Context, msgs []queue.Message) error {
			if now := got.Add(int64(len(msgs))); now >= want && now-int64(len(msgs)) < want {
				close(done)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		defer stop()
		b.ResetTimer()
		for range b.N {
			msgs := make([]queue.Message, 64)
			for i := range msgs {
				msgs[i] = queue.Message{Topic: topic, Key: strconv.Itoa(i), Shard: i, Body: body}
			}
			if err := q.Send(b.Context(), msgs...); err != nil {
				b.Fatal(err)
			}
		}
		<-done
		b.ReportMetric(float64(want)/b.Elapsed().Seconds(), "msg/s")
	})
	b.Run("one message, idle", func(b *testing.B) {
		q, topic := open(b), topic(b)
		came := make(chan struct{}, 1)
		stop, err := q.Receive(b.Context(), topic, topic+"-g", func(_ context.Context, msgs []queue.Message) error {
			for range msgs {
				came <- struct{}{}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		defer stop()
		time.Sleep(300 * time.Millisecond) // idle it is
		b.ResetTimer()
		for i := range b.N {
			if err := q.Send(b.Context(), queue.Message{Topic: topic, Shard: i, Body: body}); err != nil {
				b.Fatal(err)
			}
			<-came
		}
	})
}
