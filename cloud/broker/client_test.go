package broker_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"vendline/cloud/broker"
	"vendline/deploy/stack"
)

// server is a broker with two cabinets, as a client sees it.
type server struct {
	url, cloud string
	one, two   string            // cabinet ids
	passwords  map[string]string // by cabinet
}

func embedded(t *testing.T) server {
	passwords := map[string]string{"C001": "secret-1", "C002": "secret-2"}
	b, err := broker.Start(broker.Options{
		CloudPassword: "cloud-secret",
		Password:      func(id string) (string, bool) { p, ok := passwords[id]; return p, ok },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return server{b.URL(), "cloud-secret", "C001", "C002", passwords}
}

func mosquitto(t *testing.T) server {
	d := stack.Need(t)
	one, two := d.CabinetPrefix(t)+"-1", d.CabinetPrefix(t)+"-2"
	return server{d.MQTTURL, d.MQTTPassword, one, two, map[string]string{one: d.Cabinet(t, one), two: d.Cabinet(t, two)}}
}

// eachBroker runs check over the embedded broker, and over the real one unless -short.
func eachBroker(t *testing.T, check func(t *testing.T, s server)) {
	t.Run("mochi", func(t *testing.T) { check(t, embedded(t)) })
	if !testing.Short() {
		t.Run("mosquitto", func(t *testing.T) { check(t, mosquitto(t)) })
	}
}

// message is one that a client received.
type message struct{ topic, payload string }

// client is connected until the test ends; what it receives comes in order.
type client struct {
	mqtt.Client
	got chan message
}

func dial(s server, id, user, password string, change func(*mqtt.ClientOptions)) (*client, error) {
	c := &client{got: make(chan message, 1024)}
	o := mqtt.NewClientOptions().AddBroker(s.url).SetClientID(id).SetUsername(user).SetPassword(password)
	o.SetAutoReconnect(false).SetConnectRetry(false)
	o.SetDefaultPublishHandler(func(_ mqtt.Client, m mqtt.Message) { c.got <- message{m.Topic(), string(m.Payload())} })
	if change != nil {
		change(o)
	}
	c.Client = mqtt.NewClient(o)
	return c, finished(c.Connect())
}

func finished(token mqtt.Token) error {
	if !token.WaitTimeout(20 * time.Second) {
		return fmt.Errorf("the broker does not answer")
	}
	return token.Error()
}

func (s server) connect(t *testing.T, user string) *client {
	t.Helper()
	password := s.passwords[user]
	if user == broker.CloudUser {
		password = s.cloud
	}
	c, err := dial(s, "test-"+user+"-"+strconv.FormatInt(time.Now().UnixNano(), 36), user, password, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Disconnect(0) })
	return c
}

// subscribe asks before messages are under way to c: mochi refuses a SUBSCRIBE
// whose packet id a PUBLISH of its own is using.
func (c *client) subscribe(t *testing.T, filter string) {
	t.Helper()
	if !c.Subscribe(filter, 1, nil).WaitTimeout(20 * time.Second) {
		t.Fatal("the broker does not answer a subscribe")
	}
}

func (c *client) publish(t *testing.T, topic, payload string) {
	t.Helper()
	if err := finished(c.Publish(topic, 1, false, payload)); err != nil {
		t.Fatalf("publish on %s: %v", topic, err)
	}
}

// until reads what came before the sentinel.
func (c *client) until(t *testing.T, sentinel string) (before []message) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case m := <-c.got:
			if m.payload == sentinel {
				return before
			}
			before = append(before, m)
		case <-deadline:
			t.Fatalf("the sentinel %s did not come; %d messages did; connected: %v", sentinel, len(before), c.IsConnectionOpen())
		}
	}
}
