package uplink

import (
	"context"
	"testing"

	"vendline/edge/ident"
	"vendline/edge/outbox"
	"vendline/shared/wire"
)

// fakeMessage is an MQTT message that counts its acknowledgements.
type fakeMessage struct {
	payload []byte
	acked   int
	stored  func() bool
	early   bool
	told    chan struct{} // if not nil: receives a token per acknowledgement
}

func (*fakeMessage) Duplicate() bool   { return false }
func (*fakeMessage) Qos() byte         { return 1 }
func (*fakeMessage) Retained() bool    { return false }
func (*fakeMessage) Topic() string     { return "vend/v1/C001/verdict" }
func (*fakeMessage) MessageID() uint16 { return 1 }
func (m *fakeMessage) Payload() []byte { return m.payload }
func (m *fakeMessage) Ack() {
	m.acked++
	m.early = m.early || m.stored != nil && !m.stored()
	if m.told != nil {
		m.told <- struct{}{}
	}
}

func testUplink(t *testing.T) (*Uplink, *outbox.Outbox) {
	t.Helper()
	box, err := outbox.Open(t.Context(), outbox.Options{Dir: t.TempDir(), Cabinet: "C001"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	u, err := New(box, Config{Cabinet: "C001", Broker: "tcp://127.0.0.1:1", Session: ident.New(nil, nil).V4})
	if err != nil {
		t.Fatal(err)
	}
	return u, box
}

func TestTooManyAnswersAtOnceNeverBlockTheClient(t *testing.T) {
	u, _ := testUplink(t)
	n := cap(u.inbox)
	last := &fakeMessage{told: make(chan struct{})}
	for range n {
		u.receive(letter{wire.ChannelVerdict, new(fakeMessage)})
	}
	u.receive(letter{wire.ChannelVerdict, last}) // nobody reads; it must return
	<-last.told
	if last.acked != 1 || u.Status().Dropped != 1 {
		t.Fatalf("acked %d, dropped %d: it would hold a place at the broker for ever", last.acked, u.Status().Dropped)
	}
}

func TestAVerdictIsAcknowledgedAfterItIsStored(t *testing.T) {
	u, box := testUplink(t)
	const id = "01890000-0000-7000-8000-000000000001"
	if _, err := box.Append(t.Context(), outbox.Entry{ID: id, Order: &wire.Order{User: "u", Lines: []wire.Line{{SKU: "a", Qty: 1}}}}); err != nil {
		t.Fatal(err)
	}
	m := &fakeMessage{payload: wire.Encode(wire.Verdict{V: 1, ID: id, Cabinet: "C001", Epoch: box.Epoch(), Seq: 1, Code: wire.Accepted}),
		stored: func() bool { f, err := box.Lookup(id); return err == nil && f.Settled }}
	u.settleBatch(t.Context(), []letter{{wire.ChannelVerdict, m}})
	if m.acked != 1 || m.early {
		t.Fatalf("acked %d times, before it was stored: %v", m.acked, m.early)
	}
}

func TestPoisonFromTheCloudIsAcknowledgedAndIgnored(t *testing.T) {
	u, _ := testUplink(t)
	m := &fakeMessage{payload: []byte(`{"v":1}{`)}
	u.settleBatch(t.Context(), []letter{{wire.ChannelVerdict, m}, {wire.ChannelAck, m}, {wire.ChannelCommand, m}})
	if m.acked != 3 {
		t.Fatalf("acked %d of 3", m.acked)
	}
}

func TestAnAgentThatIsStoppingAcknowledgesNothingUnstored(t *testing.T) {
	u, box := testUplink(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &fakeMessage{payload: wire.Encode(wire.Ack{V: 1, Cabinet: "C001", Epoch: box.Epoch(), Seqs: []int64{1}})}
	_ = box.Close()
	u.settleBatch(ctx, []letter{{wire.ChannelAck, m}})
	if m.acked != 0 {
		t.Fatal("the broker would not deliver it again")
	}
}

func TestWhatTheCloudSaidFirstTakesEffectFirst(t *testing.T) {
	u, box := testUplink(t)
	var seen []bool // at each command: was the row answered?
	u.cfg.Command = func(context.Context, wire.Command) {
		_, waiting, err := box.Row(1)
		if err != nil {
			t.Error(err)
		}
		seen = append(seen, !waiting)
	}
	fact := &wire.Fact{Kind: wire.FactSale, Lines: []wire.Line{{SKU: "a", Qty: 1}}}
	if _, err := box.Append(t.Context(), outbox.Entry{ID: "01890000-0000-7000-8000-000000000001", Fact: fact}); err != nil {
		t.Fatal(err)
	}
	command := &fakeMessage{payload: wire.Encode(wire.Command{V: 1, Cabinet: "C001", Kind: wire.CommandStock})}
	ack := &fakeMessage{payload: wire.Encode(wire.Ack{V: 1, Cabinet: "C001", Epoch: box.Epoch(), Seqs: []int64{1}})}
	u.settleBatch(t.Context(), []letter{{wire.ChannelCommand, command}, {wire.ChannelAck, ack}, {wire.ChannelCommand, command}})
	if len(seen) != 2 || seen[0] || !seen[1] {
		t.Fatalf("answered at each command: %v", seen)
	}
}
