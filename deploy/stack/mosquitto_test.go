//go:build linux

package stack

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// listener is a connected MQTT client that remembers what it was sent.
type listener struct {
	mqtt.Client
	mu  sync.Mutex
	got []string
}

func (l *listener) received() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

func done(t *testing.T, what string, token mqtt.Token) {
	t.Helper()
	if !token.WaitTimeout(5*time.Second) || token.Error() != nil {
		t.Fatalf("%s: error %v", what, token.Error())
	}
}

// listen connects as a user, with a session that lasts under the given name.
func listen(t *testing.T, d *Description, user, session string) *listener {
	t.Helper()
	l := &listener{}
	password := d.Cabinets[user]
	if user == cloudUser {
		password = d.MQTTPassword
	}
	l.Client = mqtt.NewClient(mqtt.NewClientOptions().AddBroker(d.MQTTURL).
		SetClientID(session).SetUsername(user).SetPassword(password).
		SetCleanSession(false).SetAutoReconnect(false).
		SetDefaultPublishHandler(func(_ mqtt.Client, m mqtt.Message) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.got = append(l.got, m.Topic()+" "+string(m.Payload()))
		}))
	done(t, "connect as "+user, l.Connect())
	t.Cleanup(func() { l.Disconnect(0) })
	return l
}

// until waits for a condition that becomes true on its own.
func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !true(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited until %s", what)
		}
	}
}

func mosquittoKeepsMessages(t *testing.T) {
	s := Own(t, Options{Mosquitto: true, Cabinets: []string{"C001"}})
	d := described(t, s)
	cloud := listen(t, d, cloudUser, "intake")
	done(t, "subscribe", cloud.Subscribe("vend/v1/+/order", 1, nil))
	cloud.Disconnect(50)

	cabinet := listen(t, d, "C001", "agent")
	const n = 500
	for i := range n {
		done(t, "publish", cabinet.Publish("vend/v1/C001/order", 1, false, fmt.Sprint(i)))
	}
	done(t, "publish state", cabinet.Publish("vend/v1/C001/state", 1, true, "born"))
	time.Sleep(2500 * time.Millisecond) // autosave_interval, and the save itself
	crash(t, s.Mosquitto)

	cloud = listen(t, d, cloudUser, "intake")
	until(t, "the offline session has all its messages", func() bool { return len(cloud.received()) >= n })
	done(t, "subscribe", cloud.Subscribe("vend/v1/+/state", 1, nil))
	until(t, "the retained state is there", func() bool {
		return slices.Contains(cloud.received(), "vend/v1/C001/state born")
	})
}

func aCabinetSpeaksUnderItsOwnIDOnly(t *testing.T) {
	s := Own(t, Options{Mosquitto: true, Cabinets: []string{"C001", "C002"}})
	d := described(t, s)
	cloud := listen(t, d, cloudUser, "intake")
	done(t, "subscribe", cloud.Subscribe("vend/v1/#", 1, nil))
	thief := listen(t, d, "C002", "thief")
	for _, filter := range []string{"vend/v1/C001/verdict", "vend/v1/+/command", "vend/v1/C001/order", "#", "vend/v1/C002/verdict"} {
		// This broker grants any subscription and then delivers nothing, so what counts is what arrives.
		done(t, "subscribe", thief.Subscribe(filter, 1, nil))
	}
	done(t, "publish", thief.Publish("vend/v1/C001/order", 1, false, "forged"))
	done(t, "publish", thief.Publish("vend/v1/C002/verdict", 1, false, "forged"))
	victim := listen(t, d, "C001", "victim")
	done(t, "publish", victim.Publish("vend/v1/C001/order", 1, false, "real"))
	done(t, "publish", cloud.Publish("vend/v1/C001/verdict", 1, false, "secret"))
	done(t, "publish", cloud.Publish("vend/v1/C002/verdict", 1, false, "yours"))
	until(t, "the thief has what is its own", func() bool { return len(thief.received()) > 0 })
	until(t, "the cloud has what was sent", func() bool { return len(cloud.received()) >= 3 })
	time.Sleep(200 * time.Millisecond)
	if got := thief.received(); slices.ContainsFunc(got, func(m string) bool { return m != "vend/v1/C002/verdict yours" }) {
		t.Errorf("C002 received %q", got)
	}
	if got := cloud.received(); slices.ContainsFunc(got, func(m string) bool { return m[len(m)-6:] == "forged" }) {
		t.Errorf("the cloud received %q", got)
	}
	for _, wrong := range [][2]string{{"C001", d.Cabinets["C002"]}, {"C003", "x"}, {"", ""}} {
		if err := mqttAnswers(t.Context(), d.MQTTURL, wrong[0], wrong[1]); err == nil {
			t.Errorf("connected as %q", wrong)
		}
	}
}

func newCabinetsDisturbNobody(t *testing.T) {
	s := Own(t, Options{Mosquitto: true, Cabinets: []string{"C001"}})
	d := described(t, s)
	cabinet, cloud := listen(t, d, "C001", "agent"), listen(t, d, cloudUser, "intake")
	done(t, "subscribe", cloud.Subscribe("vend/v1/+/order", 1, nil))

	// From many tests at once, as packages do that are tested in parallel.
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			id := fmt.Sprintf("N%03d", i)
			passwords, err := d.AddCabinets(t.Context(), id)
			if err != nil {
				t.Error(err)
			} else if err := mqttAnswers(t.Context(), d.MQTTURL, id, passwords[id]); err != nil {
				t.Errorf("%s cannot connect: %v", id, err)
			}
		})
	}
	all.Wait()
	if again := d.Cabinet(t, "C001"); again != d.Cabinets["C001"] {
		t.Error("a known cabinet got another password")
	}
	if now := described(t, s); len(now.Cabinets) != 9 {
		t.Errorf("stack.json has %d cabinets", len(now.Cabinets))
	}
	done(t, "publish", cabinet.Publish("vend/v1/C001/order", 1, false, "still here"))
	until(t, "the message arrives", func() bool { return len(cloud.received()) == 1 })
}

func sharedSubscriptionsSplitTheWork(t *testing.T) {
	s := Own(t, Options{Mosquitto: true, Cabinets: []string{"C001"}})
	d := described(t, s)
	one, two := listen(t, d, cloudUser, "intake-1"), listen(t, d, cloudUser, "intake-2")
	for _, l := range []*listener{one, two} {
		done(t, "subscribe", l.Subscribe("$share/intake/vend/v1/+/order", 1, nil))
	}
	cabinet := listen(t, d, "C001", "agent")
	for i := range 40 {
		done(t, "publish", cabinet.Publish("vend/v1/C001/order", 1, false, fmt.Sprint(i)))
	}
	until(t, "all 40 arrived, each once", func() bool { return len(one.received())+len(two.received()) == 40 })
	if len(one.received()) == 0 || len(two.received()) == 0 {
		t.Errorf("split %d to %d", len(one.received()), len(two.received()))
	}
}

// This broker grants a cabinet any shared subscription, and then drops what
// falls to its share: one that knew the name of the cloud's group would make
// orders vanish until they are sent again. So that name must be a secret.
func anotherGroupStealsNothing(t *testing.T) {
	s := Own(t, Options{Mosquitto: true, Cabinets: []string{"C001", "C002"}})
	d := described(t, s)
	cloud, thief := listen(t, d, cloudUser, "intake"), listen(t, d, "C002", "thief")
	done(t, "subscribe", cloud.Subscribe("$share/a-secret/vend/v1/+/order", 1, nil))
	done(t, "subscribe", thief.Subscribe("$share/intake/vend/v1/+/order", 1, nil))
	cabinet := listen(t, d, "C001", "agent")
	for i := range 40 {
		done(t, "publish", cabinet.Publish("vend/v1/C001/order", 1, false, fmt.Sprint(i)))
	}
	until(t, "all 40 arrived", func() bool { return len(cloud.received()) == 40 })
	if got := thief.received(); len(got) > 0 {
		t.Errorf("the thief received %q", got)
	}
}
