package queuetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"vendline/cloud/queue"
)

func arrives(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	msgs := []queue.Message{
		{Topic: topic, Key: "binary", Shard: 3, Body: all},
		{Topic: topic, Key: "one", Shard: 0, Body: []byte{0}},
		{Topic: topic, Key: "text", Shard: 1001, Body: []byte("Grüße, 世界")},
	}
	receive(t, q, topic, topic+"-g", box.handle)
	send(t, q, msgs...)
	box.waitFor(t, []string{"binary", "one", "text"})
	for _, want := range msgs {
		got := box.first[want.Key]
		if got.Topic != topic || got.Shard != want.Shard || !bytes.Equal(got.Body, want.Body) || got.Attempt < 1 {
			t.Errorf("sent %+v, got %+v", want, got)
		}
	}
}

func sendsNothing(t *testing.T, target Target) { send(t, target.Queue(t)) }

func manySenders(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	receive(t, q, topic, topic+"-g", box.handle)
	var senders sync.WaitGroup
	var keys []string
	for s := range 16 {
		msgs, k := numbered(topic, fmt.Sprintf("s%d", s), 25)
		keys = append(keys, k...)
		senders.Go(func() {
			for _, m := range msgs {
				if err := q.Send(t.Context(), m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	box.waitFor(t, keys)
}

func largestBody(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	receive(t, q, topic, topic+"-g", box.handle)
	body := bytes.Repeat([]byte{7, 0, 255, '\n'}, queue.MaxBody/4)
	send(t, q, queue.Message{Topic: topic, Key: "large", Body: body})
	box.waitFor(t, []string{"large"})
	if !bytes.Equal(box.first["large"].Body, body) {
		t.Error("the body changed on its way")
	}
}

func oversizeBody(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	receive(t, q, topic, topic+"-g", box.handle)
	err := q.Send(t.Context(), queue.Message{Topic: topic, Key: "oversize", Body: make([]byte, queue.MaxBody+1)})
	if err == nil {
		t.Error("a body over MaxBody was accepted")
	}
	send(t, q, queue.Message{Topic: topic, Key: "next", Body: []byte("x")})
	box.waitFor(t, []string{"next"})
}

func largeSend(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	receive(t, q, topic, topic+"-g", box.handle)
	msgs, keys := numbered(topic, "l", 24)
	for i := range msgs {
		msgs[i].Shard, msgs[i].Body = i%2, bytes.Repeat([]byte{byte(i)}, 300<<10)
	}
	send(t, q, msgs...)
	box.waitFor(t, keys)
}

func errorBringsBack(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	receive(t, q, topic, topic+"-g", refusing(box.handle, func() error { return errors.New("not today") }))
	msgs, keys := numbered(topic, "e", 12)
	send(t, q, msgs...)
	box.waitFor(t, keys)
}

func panicBringsBack(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	receive(t, q, topic, topic+"-g", refusing(box.handle, func() error { panic("handler broke") }))
	msgs, keys := numbered(topic, "p", 12)
	send(t, q, msgs...)
	box.waitFor(t, keys)
}

func poisonIsolated(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	msgs, keys := numbered(topic, "good", 40)
	poison := queue.Message{Topic: topic, Key: "poison", Shard: 0, Body: []byte("poison")}
	send(t, q, append([]queue.Message{poison}, msgs...)...)
	receive(t, q, topic, topic+"-g", func(ctx context.Context, msgs []queue.Message) error {
		for _, m := range msgs {
			if m.Key == "poison" {
				return errors.New("poison")
			}
		}
		return box.handle(ctx, msgs)
	})
	box.waitFor(t, keys)
	more, moreKeys := numbered(topic, "later", 40)
	send(t, q, more...)
	box.waitFor(t, moreKeys)
}

func concurrentHandlers(t *testing.T, target Target) {
	q, topic := target.Queue(t), target.Topic(t)
	meet, met := make(chan struct{}), make(chan struct{})
	var once sync.Once
	receive(t, q, topic, topic+"-g", func(context.Context, []queue.Message) error {
		select {
		case meet <- struct{}{}: // somebody else is in here too
			once.Do(func() { close(met) })
		case <-meet:
		case <-met:
		}
		return nil
	})
	deadline := time.After(patience)
	for i := 0; ; i++ {
		send(t, q, queue.Message{Topic: topic, Key: strconv.Itoa(i), Shard: i, Body: []byte("x")})
		select {
		case <-met:
			return
		case <-deadline:
			t.Fatal("no two handlers ever ran at once")
		case <-time.After(10 * time.Millisecond): // the pace of sending, nothing more
		}
	}
}

func batches(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	msgs, keys := numbered(topic, "b", 400)
	send(t, q, msgs...)
	receive(t, q, topic, topic+"-g", box.handle)
	box.waitFor(t, keys)
	if box.largest < 2 {
		t.Error("400 waiting messages came one by one")
	}
}

func delayed(t *testing.T, target Target) {
	q, topic, box := target.Queue(t), target.Topic(t), newInbox()
	receive(t, q, topic, topic+"-g", box.handle)
	now := time.Now()
	var msgs []queue.Message
	var keys []string
	for i, d := range []time.Duration{-time.Hour, 0, 1300 * time.Millisecond, 2 * time.Second, 3501 * time.Millisecond} {
		key := fmt.Sprintf("d%d", i)
		keys = append(keys, key)
		msgs = append(msgs, queue.Message{Topic: topic, Key: key, Shard: i, Body: []byte(key), DeliverAt: now.Add(d)})
	}
	at := queue.Message{Topic: topic, Key: "at once", Body: []byte("x")}
	send(t, q, append(msgs, at)...)
	box.waitFor(t, append(keys, "at once"))
	for _, m := range msgs {
		if came := box.at[m.Key]; came.Before(m.DeliverAt) {
			t.Errorf("%s came %v early", m.Key, m.DeliverAt.Sub(came))
		}
	}
}
