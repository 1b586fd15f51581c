package broker_test

import (
	"strconv"
	"testing"
	"time"

	"vendline/cloud/broker"
	"vendline/shared/wire"
)

var up = []wire.Channel{wire.ChannelOrder, wire.ChannelFact, wire.ChannelBeat, wire.ChannelState}
var down = []wire.Channel{wire.ChannelVerdict, wire.ChannelAck, wire.ChannelCommand}

// A cabinet is heard on its own four topics up, and on no other.
func TestCabinetIsHeardUnderItsOwnIDOnly(t *testing.T) {
	eachBroker(t, func(t *testing.T, s server) {
		cloud, one := s.connect(t, broker.CloudUser), s.connect(t, s.one)
		cloud.subscribe(t, "vend/v1/#")
		heard := map[string]bool{}
		var topics []string
		for _, c := range up {
			topics = append(topics, wire.Topic(s.one, c), wire.Topic(s.two, c))
			heard[wire.Topic(s.one, c)] = true
		}
		for _, c := range down {
			topics = append(topics, wire.Topic(s.one, c), wire.Topic(s.two, c))
		}
		topics = append(topics, "vend/v1/"+s.one, "vend/v1/"+s.one+"/order/x", "vend/v1/"+s.one+"/unknown", "vend/v1//order")
		for i, topic := range topics {
			one.publish(t, topic, "probe")
			sentinel := "sentinel " + strconv.Itoa(i)
			one.publish(t, wire.Topic(s.one, wire.ChannelOrder), sentinel)
			got := len(cloud.until(t, sentinel)) > 0
			if got != heard[topic] {
				t.Errorf("a publish of %s on %s was heard: %v, want %v", s.one, topic, got, heard[topic])
			}
		}
	})
}

// A cabinet hears its own three topics down, and no other.
func TestCabinetHearsItsOwnIDOnly(t *testing.T) {
	eachBroker(t, func(t *testing.T, s server) {
		cloud := s.connect(t, broker.CloudUser)
		probe := func(i int, filter, topic string, want bool) {
			one := s.connect(t, s.one)
			one.subscribe(t, filter)
			one.subscribe(t, wire.Topic(s.one, wire.ChannelCommand))
			cloud.publish(t, topic, "probe")
			sentinel := "sentinel " + strconv.Itoa(i)
			cloud.publish(t, wire.Topic(s.one, wire.ChannelCommand), sentinel)
			if got := len(one.until(t, sentinel)) > 0; got != want {
				t.Errorf("%s subscribed to %s hears %s: %v, want %v", s.one, filter, topic, got, want)
			}
			one.Disconnect(0)
		}
		for i, c := range down {
			probe(10+i, wire.Topic(s.one, c), wire.Topic(s.one, c), true)
			probe(20+i, wire.Topic(s.two, c), wire.Topic(s.two, c), false)
			probe(30+i, "vend/v1/+/"+string(c), wire.Topic(s.two, c), false)
		}
		for i, c := range up {
			probe(40+i, wire.Topic(s.two, c), wire.Topic(s.two, c), false)
			probe(50+i, "vend/v1/#", wire.Topic(s.two, c), false)
			probe(60+i, "#", wire.Topic(s.one, c), false)
			probe(70+i, "$share/thief/vend/v1/+/"+string(c), wire.Topic(s.two, c), false)
		}
	})
}

// The cloud hears all cabinets, shared among its instances, and reaches each.
func TestCloudHearsAndReachesAll(t *testing.T) {
	eachBroker(t, func(t *testing.T, s server) {
		a, b := s.connect(t, broker.CloudUser), s.connect(t, broker.CloudUser)
		group := strconv.FormatInt(time.Now().UnixNano(), 36)
		for _, c := range []*client{a, b} {
			c.subscribe(t, "$share/"+group+"/vend/v1/+/order")
		}
		one, two := s.connect(t, s.one), s.connect(t, s.two)
		const each = 50
		for range each {
			one.publish(t, wire.Topic(s.one, wire.ChannelOrder), "x")
			two.publish(t, wire.Topic(s.two, wire.ChannelOrder), "x")
		}
		var na, nb int
		for na+nb < 2*each {
			select {
			case <-a.got:
				na++
			case <-b.got:
				nb++
			case <-time.After(20 * time.Second):
				t.Fatalf("%d of %d messages came", na+nb, 2*each)
			}
		}
		if na == 0 || nb == 0 {
			t.Errorf("the load was not shared: %d and %d", na, nb)
		}
		for _, id := range []string{s.one, s.two} {
			cabinet := map[string]*client{s.one: one, s.two: two}[id]
			cabinet.subscribe(t, wire.Topic(id, wire.ChannelVerdict))
			a.publish(t, wire.Topic(id, wire.ChannelVerdict), "for "+id)
			if extra := cabinet.until(t, "for "+id); len(extra) > 0 {
				t.Errorf("%s heard %v", id, extra)
			}
		}
	})
}

// Nobody gets in under a wrong password, an unknown or impossible identity, or none.
func TestStrangersStayOutside(t *testing.T) {
	eachBroker(t, func(t *testing.T, s server) {
		for _, who := range []struct{ user, password string }{
			{s.one, "wrong"}, {s.one, ""}, {s.one, s.passwords[s.two]}, {broker.CloudUser, "wrong"}, {broker.CloudUser, ""},
			{"nobody", "x"}, {"+", "x"}, {"#", "x"}, {"a/b", "x"}, {"", ""}, {"", "x"},
		} {
			c, err := dial(s, "stranger", who.user, who.password, nil)
			if err == nil {
				t.Errorf("%q got in with password %q", who.user, who.password)
				c.Disconnect(0)
			}
		}
	})
}
