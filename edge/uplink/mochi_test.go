package uplink_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"vendline/edge/outbox"
	"vendline/edge/standin/broker"
	"vendline/edge/uplink"
	"vendline/shared/wire"
)

func TestUplinkOverMochi(t *testing.T) {
	suite(t, func(t *testing.T, _ ...string) server { return mochi(t) })
}

func mochi(t *testing.T) server {
	t.Helper()
	b, err := broker.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	up := true
	s := server{url: b.URL(), cabinetPassword: func(string) string { return "" }}
	s.kill = func() {
		up = false
		_ = b.Stop() // its answer is about connections it has cut
	}
	s.start = func() {
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
		up = true
	}
	t.Cleanup(func() {
		if up {
			_ = b.Stop()
		}
	})
	return s
}

// TestAHerdThatReconnectsTogetherDrains restarts a broker under many agents.
func TestAHerdThatReconnectsTogetherDrains(t *testing.T) {
	agents := 200
	if testing.Short() {
		agents = 60
	}
	s := mochi(t)
	ctx := deadline(t)
	cloud := s.cloud(t, "+", nil)
	boxes := make([]*outbox.Outbox, agents)
	var all sync.WaitGroup
	for i := range boxes {
		cabinet := fmt.Sprintf("H%03d", i)
		boxes[i] = openBox(t, cabinet, t.TempDir())
		run(t, boxes[i], s, cabinet, uplink.Config{Timing: uplink.Timing{
			Reconnect: 500 * time.Millisecond, ReconnectMax: 2 * time.Second, Resend: 5 * time.Second, ResendMax: 10 * time.Second}})
	}
	sell := func(from, to int) {
		for i, box := range boxes {
			all.Go(func() {
				for n := from; n <= to; n++ {
					if _, err := box.Append(context.Background(), outbox.Entry{ID: id(i*1000 + n),
						Order: &wire.Order{User: "u1", Lines: []wire.Line{{SKU: "cola", Qty: 1}}}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	sell(1, 5)
	s.kill()
	sell(6, 15)
	s.start()
	for _, box := range boxes {
		drained(ctx, t, box)
	}
	if got := len(cloud.Seen().IDs()); got != agents*15 {
		t.Fatalf("the cloud has %d of %d events", got, agents*15)
	}
}

func TestRunLeavesNothingBehind(t *testing.T) {
	noLeaks(t)
	s := mochi(t)
	net := cutter(t, s.url)
	box := openBox(t, "C001", t.TempDir())
	u, stop := runStoppable(t, box, s, "C001", uplink.Config{Broker: net.url(), Timing: uplink.Timing{Write: 300 * time.Millisecond}})
	ctx := deadline(t)
	for range 3 {
		session := u.Status().Session
		eventually(ctx, t, "a session", func() bool { st := u.Status(); return st.Connected && st.Session != session })
		net.cut()
	}
	stop()
}

// oldFile makes an outbox as the first agents wrote it, with rows as given.
func oldFile(t *testing.T, dir, _ string, rows map[int64][]byte) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, "outbox.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(func(tx *bolt.Tx) error {
		m, err := tx.CreateBucket([]byte("meta"))
		if err != nil {
			return err
		}
		if err := m.Put([]byte("epoch"), []byte(oldEpoch)); err != nil {
			return err
		}
		b, err := tx.CreateBucket([]byte("rows"))
		if err != nil {
			return err
		}
		for seq, v := range rows {
			if err := b.Put([]byte{0, 0, 0, 0, 0, 0, 0, byte(seq)}, v); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

const oldEpoch = "11111111-2222-4333-8444-555555555555"

func oldRow(cabinet, id, user string) []byte {
	return wire.Encode(wire.Event{V: 1, ID: id, Cabinet: cabinet, Epoch: oldEpoch, Seq: 1,
		Order: &wire.Order{User: user, Lines: []wire.Line{{SKU: "cola", Qty: 1}}}})
}
