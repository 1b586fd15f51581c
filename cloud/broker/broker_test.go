package broker_test

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"vendline/cloud/broker"
	"vendline/shared/wire"
)

// A client id names a session; taking somebody else's would take its queue too.
func TestClientIDOfAnotherUserIsRefused(t *testing.T) {
	s := embedded(t)
	first, err := dial(s, "edge-C001", s.one, s.passwords[s.one], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Disconnect(0)
	if thief, err := dial(s, "edge-C001", s.two, s.passwords[s.two], nil); err == nil {
		thief.Disconnect(0)
		t.Error("a cabinet took another cabinet's session")
	}
	if !first.IsConnectionOpen() {
		t.Error("the rightful session was cut")
	}
	again, err := dial(s, "edge-C001", s.one, s.passwords[s.one], nil)
	if err != nil {
		t.Fatalf("a cabinet cannot take its own session over: %v", err)
	}
	again.Disconnect(0)
}

// A will is a publish like any other.
func TestWillUnderAnotherIDIsRefused(t *testing.T) {
	s := embedded(t)
	c, err := dial(s, "liar", s.one, s.passwords[s.one], func(o *mqtt.ClientOptions) {
		o.SetWill(wire.Topic(s.two, wire.ChannelState), "offline", 1, true)
	})
	if err == nil {
		c.Disconnect(0)
		t.Error("a cabinet may announce another's death")
	}
}

// The last will comes, and the birth is there for those who subscribe later.
func TestWillAndRetainedBirth(t *testing.T) {
	s := embedded(t)
	cloud := s.connect(t, broker.CloudUser)
	state := wire.Topic(s.one, wire.ChannelState)
	var conn net.Conn
	one, err := dial(s, "edge", s.one, s.passwords[s.one], func(o *mqtt.ClientOptions) {
		o.SetWill(state, "dead", 1, true)
		o.SetCustomOpenConnectionFn(func(u *url.URL, _ mqtt.ClientOptions) (net.Conn, error) {
			var err error
			conn, err = net.Dial("tcp", u.Host)
			return conn, err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := finished(one.Publish(state, 1, true, "alive")); err != nil {
		t.Fatal(err)
	}
	cloud.subscribe(t, wire.TopicFilter(wire.ChannelState))
	cloud.until(t, "alive")
	if err := conn.Close(); err != nil { // no goodbye
		t.Fatal(err)
	}
	cloud.until(t, "dead")
}

// A backlog of far more than mochi's own limits is not dropped on its way to
// one client that takes its time.
func TestBurstReachesOneClient(t *testing.T) {
	s := embedded(t)
	const n = 12_000
	got := make(chan struct{}, n)
	slow := make(chan struct{})
	intake, err := dial(s, "intake", broker.CloudUser, s.cloud, func(o *mqtt.ClientOptions) {
		o.SetOrderMatters(false).SetAutoAckDisabled(true)
		o.SetDefaultPublishHandler(func(_ mqtt.Client, m mqtt.Message) {
			<-slow
			m.Ack()
			got <- struct{}{}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	defer intake.Disconnect(0)
	intake.subscribe(t, "$share/intake/vend/v1/+/order")
	one := s.connect(t, s.one)
	var last mqtt.Token
	for i := range n {
		last = one.Publish(wire.Topic(s.one, wire.ChannelOrder), 1, false, strconv.Itoa(i))
	}
	if err := finished(last); err != nil {
		t.Fatal(err)
	}
	close(slow)
	for i := range n {
		select {
		case <-got:
		case <-time.After(30 * time.Second):
			t.Fatalf("%d of %d came", i, n)
		}
	}
}

// A broker that is closed and started at the same address is the same to clients.
func TestCloseFreesTheAddress(t *testing.T) {
	for i := range 3 {
		b, err := broker.Start(broker.Options{CloudPassword: "x"})
		if err != nil {
			t.Fatal(err)
		}
		addr := b.Addr()
		if b.URL() != "tcp://"+addr {
			t.Errorf("URL %s of %s", b.URL(), addr)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := broker.Start(broker.Options{Addr: addr, CloudPassword: "x"})
		if err != nil {
			t.Fatal(fmt.Errorf("round %d: %w", i, err))
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := broker.Start(broker.Options{}); err == nil {
		t.Error("a broker without a password for the cloud started")
	}
}

// A member of a shared subscription that died gets nothing while others live.
func TestShareGoesToTheLiving(t *testing.T) {
	s := embedded(t)
	const filter = "$share/g/vend/v1/+/order"
	keep := func(o *mqtt.ClientOptions) { o.SetCleanSession(false) }
	dead, err := dial(s, "dead", broker.CloudUser, s.cloud, keep)
	if err != nil {
		t.Fatal(err)
	}
	dead.subscribe(t, filter)
	dead.Disconnect(100)
	alive := s.connect(t, broker.CloudUser)
	alive.subscribe(t, filter)
	alive.subscribe(t, "vend/v1/+/beat")
	one := s.connect(t, s.one)
	// The broker may notice the disconnect a little late, so the first rounds do
	// not count; drawn from the dead too, no round of 50 would ever be whole.
	for round := range 50 {
		for range 50 {
			one.publish(t, wire.Topic(s.one, wire.ChannelOrder), "x")
		}
		sentinel := "sentinel " + strconv.Itoa(round)
		one.publish(t, wire.Topic(s.one, wire.ChannelBeat), sentinel)
		if len(alive.until(t, sentinel)) == 50 {
			return
		}
	}
	t.Error("what is shared still goes to the dead")
}
