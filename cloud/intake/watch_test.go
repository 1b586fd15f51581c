package intake_test

import (
	"fmt"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"vendline/cloud/broker"
	"vendline/cloud/intake"
	"vendline/cloud/presence"
	"vendline/shared/wire"
)

// await asks until ok; it is for what offers no notice.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("still waiting for %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// admin is a client with the cloud's rights.
func (s site) admin(t *testing.T) mqtt.Client {
	t.Helper()
	o := mqtt.NewClientOptions().AddBroker(s.url).SetClientID("admin").SetUsername(broker.CloudUser).SetPassword(s.password)
	c := mqtt.NewClient(o)
	if token := c.Connect(); !token.WaitTimeout(patience) || token.Error() != nil {
		t.Fatalf("admin: %v", token.Error())
	}
	t.Cleanup(func() { c.Disconnect(0) })
	return c
}

func (c *cabinet) state(session string, online bool) []byte {
	return wire.Encode(wire.State{V: 1, Cabinet: c.id, Session: session, Online: online, Epoch: c.epoch, Agent: "test"})
}

// A birth is answered with the stock, once a session, whether it is heard live
// or found retained by an instance that starts later.
func TestBirthIsAnsweredWithStock(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		withStock := func(o *intake.Options) { o.Stock = shop }
		first := s.intake(t, "intake-1", shop, withStock)
		c := s.cabinet(t, 0, nil)
		birth := func(session string) {
			c.client.Publish(wire.Topic(c.id, wire.ChannelState), 1, true, c.state(session, true))
		}
		commands := func(n int) {
			t.Helper()
			c.wait(fmt.Sprintf("command %d", n), func() bool { return len(c.commands) == n })
		}
		birth("s1")
		commands(1)
		cmd := c.commands[0]
		if cmd.V != 1 || cmd.Kind != wire.CommandStock || cmd.Cabinet != c.id || len(cmd.Stock) != 1 || cmd.Stock[0].Sellable != 12 {
			t.Errorf("command %+v", cmd)
		}
		birth("s1") // said twice, answered once
		birth("s2")
		commands(2)
		first.Close()
		s.intake(t, "intake-3", shop, withStock)
		commands(3)
	})
}

// The registry follows the real thing: birth, beats, a cut connection's will,
// and the will of a session that is over.
func TestFleetIsWatched(t *testing.T) {
	eachBroker(t, func(t *testing.T, s site) {
		shop := newShop()
		fleet := presence.New(presence.Options{})
		s.intake(t, "intake-1", shop, func(o *intake.Options) { o.Watcher = fleet })
		cable := newCable(t, s.url)
		far := s
		far.url = cable.url()
		c := far.cabinet(t, 0, func(o *mqtt.ClientOptions) {
			o.SetBinaryWill(wire.Topic("C0", wire.ChannelState), (&cabinet{id: "C0"}).state("s1", false), 1, true)
		})
		say := func(ch wire.Channel, qos byte, payload []byte) {
			c.client.Publish(wire.Topic(c.id, ch), qos, false, payload)
		}
		is := func(h presence.Health) {
			t.Helper()
			await(t, "the cabinet to be "+string(h), func() bool {
				got, ok := fleet.Get(c.id, clock)
				return ok && got.Health == h
			})
		}
		say(wire.ChannelState, 1, c.state("s1", true))
		is(presence.Online)
		say(wire.ChannelBeat, 0, wire.Encode(wire.Beat{V: 1, Cabinet: c.id, Session: "s1", Epoch: c.epoch, At: clock.Add(-10 * time.Minute).UnixMilli(), Depth: 42}))
		await(t, "the beat", func() bool { got, _ := fleet.Get(c.id, clock); return got.Depth == 42 && got.Skewed })
		c.keep(c.order("cola", 1))
		c.settled()
		await(t, "the answer", func() bool { got, _ := fleet.Get(c.id, clock); return got.Answered.Equal(clock) })
		cable.shake() // no goodbye: the broker says it for us
		is(presence.Offline)
		c.wait("the connection to be back", func() bool { return c.ups == 2 })
		say(wire.ChannelState, 1, c.state("s2", true))
		is(presence.Online)
		say(wire.ChannelState, 1, c.state("s1", false)) // late
		say(wire.ChannelBeat, 1, wire.Encode(wire.Beat{V: 1, Cabinet: c.id, Session: "s2", Epoch: c.epoch, At: clock.UnixMilli(), Depth: 43}))
		await(t, "the beat", func() bool { got, _ := fleet.Get(c.id, clock); return got.Depth == 43 })
		is(presence.Online)
	})
}

// A process that only shows the fleet hears it too.
func TestWatchAlone(t *testing.T) {
	s := embedded(t)
	fleet := presence.New(presence.Options{})
	c := s.cabinet(t, 0, nil)
	c.client.Publish(wire.Topic(c.id, wire.ChannelState), 1, true, c.state("s1", true))
	w, err := intake.StartWatch(intake.Options{Broker: s.url, User: s.user, Password: s.password, Client: "dashboard", Watcher: fleet, Log: quiet(), Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "the retained birth", func() bool { got, ok := fleet.Get(c.id, clock); return ok && got.Session == "s1" })
}
