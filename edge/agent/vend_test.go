package agent_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"vendline/deploy/stack"
	"vendline/edge/agent"
	"vendline/edge/dispense"
	"vendline/edge/ident"
	"vendline/edge/standin"
	"vendline/edge/standin/broker"
	"vendline/edge/uplink"
	"vendline/shared/wire"
)

// site is a broker, a network to it that can be cut and slowed, and a cabinet's
// agent behind that network.
type site struct {
	url             string // of the broker, for the cloud
	user, password  string
	cabinetPassword string
	cabinet         string
	net             *line
	dir             string
}

func TestVendingOverMochi(t *testing.T) {
	vending(t, func(t *testing.T, cabinet string) *site {
		b, err := broker.Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Stop() })
		return &site{url: b.URL()}
	})
}

// The same over the real broker. Not with -short: it needs mosquitto.
func TestVendingOverMosquitto(t *testing.T) {
	if testing.Short() {
		return
	}
	vending(t, func(t *testing.T, cabinet string) *site {
		own := stack.Own(t, stack.Options{Mosquitto: true, Cabinets: []string{cabinet}})
		d, err := stack.Load(own.Dir)
		if err != nil {
			t.Fatal(err)
		}
		return &site{url: d.MQTTURL, user: d.MQTTUser, password: d.MQTTPassword, cabinetPassword: d.Cabinets[cabinet]}
	})
}

func vending(t *testing.T, up func(t *testing.T, cabinet string) *site) {
	for _, c := range []struct {
		promise string
		check   func(*testing.T, *site)
	}{
		{"a paid order is dispensed and the cloud hears how", orderIsDispensed},
		{"a network cut in mid-dispense loses no result and vends nothing twice", cutInMidDispense},
		{"a power cut in mid-dispense is unknown, then what the motor log says", restartInMidDispense},
		{"duplicates of a command vend once", duplicates},
		{"an answer that the network delivers late does not vend", lateAnswer},
		{"a lost wake costs one interval", lostWake},
		{"a new planogram is in force and told, once", newPlanogram},
		{"offline the grant is sold, online it is not, and the cloud hears of it", offlineSales},
	} {
		t.Run(c.promise, func(t *testing.T) {
			cabinet := "T" + strings.ToUpper(fmt.Sprintf("%x", time.Now().UnixNano()))
			s := up(t, cabinet)
			s.cabinet, s.dir, s.net = cabinet, t.TempDir(), newLine(t, s.url)
			c.check(t, s)
		})
	}
}

func (s *site) cloud(t *testing.T, opt standin.Options) *standin.Cloud {
	t.Helper()
	opt.Broker, opt.User, opt.Password, opt.Cabinet, opt.Client = s.url, s.user, s.password, s.cabinet, "cloud-"+s.cabinet
	return startCloud(t, opt)
}

func (s *site) agent(t *testing.T, timing dispense.Timing) (*agent.Agent, func()) {
	t.Helper()
	if timing.Ask == 0 {
		timing.Ask = 300 * time.Millisecond
	}
	if timing.Again == 0 {
		timing.Again = 100 * time.Millisecond
	}
	return startStoppable(t, agent.Config{Cabinet: s.cabinet, MQTT: s.net.url(), MQTTPassword: s.cabinetPassword, Data: s.dir, Dispense: timing,
		Timing: uplink.Timing{Reconnect: 20 * time.Millisecond, ReconnectMax: 200 * time.Millisecond, Resend: 300 * time.Millisecond, ResendMax: time.Second, Quick: time.Millisecond}})
}

func cid(n int) string { return ident.Format([16]byte{0: 7, 6: 0x40, 8: 0x80, 15: byte(n)}) }

func cola(n int) wire.Vend {
	return wire.Vend{ID: cid(n), Order: cid(100 + n), Lines: []wire.Line{{SKU: "cola", Qty: 1}}}
}

const dispensed = `{"lines":[{"sku":"cola","state":"dispensed"}]}`

// take polls until a command is handed out.
func take(t *testing.T, a *agent.Agent) map[string]any {
	t.Helper()
	for ctx := deadline(t); ctx.Err() == nil; {
		status, got := get(t, a, "/v1/commands?wait=2s")
		if status != http.StatusOK {
			t.Fatalf("%d %v", status, got)
		}
		if list := got["commands"].([]any); len(list) > 0 {
			return list[0].(map[string]any)
		}
	}
	t.Fatal("no command came")
	return nil
}

// nothing fails if a command is handed out now.
func nothing(t *testing.T, a *agent.Agent) {
	t.Helper()
	if _, got := get(t, a, "/v1/commands"); len(got["commands"].([]any)) > 0 {
		t.Fatalf("vends again: %v", got)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for ctx := deadline(t); !ok(); {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

func reported(t *testing.T, c *standin.Cloud, command string, states ...wire.DispenseState) {
	t.Helper()
	var got []wire.DispenseState
	seen, err := c.Until(deadline(t), func(s standin.Seen) bool {
		got = got[:0]
		for _, d := range s.Dispensed(command) {
			if state := d.Lines[0].State; !slices.Contains(got, state) {
				got = append(got, state)
			}
		}
		return slices.Equal(got, states)
	})
	if err != nil || len(seen.Bad) > 0 {
		t.Fatalf("reported %v, want %v: %v %v", got, states, err, seen.Bad)
	}
}

// asks waits until the cloud has heard n more questions than now.
func asks(t *testing.T, c *standin.Cloud, n int) {
	t.Helper()
	n += len(c.Seen().Asks)
	if _, err := c.Until(deadline(t), func(s standin.Seen) bool { return len(s.Asks) >= n }); err != nil {
		t.Fatal(err)
	}
}

func orderIsDispensed(t *testing.T, s *site) {
	cloud := s.cloud(t, standin.Options{})
	a, _ := s.agent(t, dispense.Timing{})
	cloud.Dispense(s.cabinet, cola(1), time.Minute)
	c := take(t, a)
	if c["id"] != cid(1) || c["expires_in"].(float64) > 60_000 {
		t.Fatalf("%v", c)
	}
	if status, got := post(t, a, "/v1/commands/"+cid(1)+"/result", dispensed); status != http.StatusAccepted {
		t.Fatalf("%d %v", status, got)
	}
	reported(t, cloud, cid(1), wire.Dispensed)
	asks(t, cloud, 2)
	nothing(t, a)
}

func cutInMidDispense(t *testing.T, s *site) {
	cloud := s.cloud(t, standin.Options{})
	a, _ := s.agent(t, dispense.Timing{})
	cloud.Dispense(s.cabinet, cola(1), time.Minute)
	take(t, a)
	s.net.down()
	if status, got := post(t, a, "/v1/commands/"+cid(1)+"/result", dispensed); status != http.StatusAccepted {
		t.Fatalf("%d %v", status, got)
	}
	nothing(t, a)
	s.net.up()
	reported(t, cloud, cid(1), wire.Dispensed)
	asks(t, cloud, 2)
	nothing(t, a)
}

func restartInMidDispense(t *testing.T, s *site) {
	cloud := s.cloud(t, standin.Options{})
	a, stop := s.agent(t, dispense.Timing{})
	cloud.Dispense(s.cabinet, cola(1), time.Minute)
	take(t, a)
	stop()
	a, _ = s.agent(t, dispense.Timing{Grace: 50 * time.Millisecond})
	reported(t, cloud, cid(1), wire.Uncertain)
	asks(t, cloud, 2)
	nothing(t, a)
	if status, got := post(t, a, "/v1/commands/"+cid(1)+"/result", dispensed); status != http.StatusAccepted {
		t.Fatalf("%d %v", status, got)
	}
	reported(t, cloud, cid(1), wire.Uncertain, wire.Dispensed)
}

func duplicates(t *testing.T, s *site) {
	cloud := s.cloud(t, standin.Options{Offer: func(wire.Ask) ([]wire.Vend, bool) {
		v := cola(1)
		v.ExpiresIn = 60_000
		return []wire.Vend{v, v}, true // and to every question for ever
	}})
	a, _ := s.agent(t, dispense.Timing{})
	take(t, a)
	for _, q := range cloud.Seen().Asks {
		v := cola(1)
		v.ExpiresIn = 60_000
		cloud.Answer(s.cabinet, q.ID, []wire.Vend{v})
	}
	asks(t, cloud, 3)
	nothing(t, a)
	if status, _ := post(t, a, "/v1/commands/"+cid(1)+"/result", dispensed); status != http.StatusAccepted {
		t.Fatal(status)
	}
	for range 3 {
		cloud.Wake(s.cabinet)
	}
	asks(t, cloud, 3)
	nothing(t, a)
	reported(t, cloud, cid(1), wire.Dispensed)
}

// lateAnswer holds back what the broker sends until the command is over.
func lateAnswer(t *testing.T, s *site) {
	life := 400 * time.Millisecond
	var once bool
	cloud := s.cloud(t, standin.Options{Offer: func(wire.Ask) ([]wire.Vend, bool) {
		if once {
			return nil, true
		}
		once = true
		s.net.hold() // what follows is late
		v := cola(1)
		v.ExpiresIn = life.Milliseconds()
		return []wire.Vend{v}, true
	}})
	a, _ := s.agent(t, dispense.Timing{Ask: time.Hour}) // one question, on connecting
	asked := time.Now()
	if _, err := cloud.Until(deadline(t), func(seen standin.Seen) bool { return len(seen.Asks) > 0 }); err != nil {
		t.Fatal(err)
	}
	ended := make(chan map[string]any, 1)
	go func() { // a firmware that waits for it all the while
		_, got := get(t, a, "/v1/commands?wait=3s")
		ended <- got
	}()
	until(t, "it is over", func() bool { return time.Since(asked) > 2*life })
	s.net.release()
	reported(t, cloud, cid(1), wire.Expired)
	nothing(t, a)
	if got := <-ended; len(got["commands"].([]any)) > 0 {
		t.Fatalf("vended late: %v", got)
	}
}

func lostWake(t *testing.T, s *site) {
	cloud := s.cloud(t, standin.Options{})
	a, _ := s.agent(t, dispense.Timing{})
	until(t, "connected", func() bool { h, err := a.Health(); return err == nil && h.Connected })
	cloud.Dispense("NOBODY", cola(1), time.Minute) // its wake goes elsewhere
	cloud.Dispense(s.cabinet, cola(2), time.Minute)
	if c := take(t, a); c["id"] != cid(2) {
		t.Fatalf("%v", c)
	}
}

func newPlanogram(t *testing.T, s *site) {
	cloud := s.cloud(t, standin.Options{})
	a, _ := s.agent(t, dispense.Timing{})
	asks(t, cloud, 1)
	for _, v := range []int64{3, 3, 2, 4} {
		cloud.Send(s.cabinet, wire.ChannelCommand, wire.Command{V: 1, Cabinet: s.cabinet, Kind: wire.CommandPlanogram,
			Planogram: &wire.Planogram{Version: v, Slots: []wire.Slot{{Slot: "A1", SKU: "cola", Capacity: 9, Price: 300, Currency: "CNY"}}}})
	}
	until(t, "version 4", func() bool { _, p := get(t, a, "/v1/planogram"); return p["version"] == 4.0 })
	told := map[int64]bool{}
	if _, err := cloud.Until(deadline(t), func(seen standin.Seen) bool {
		clear(told)
		for _, e := range seen.Events {
			told[e.Fact.Planogram] = true
		}
		return told[4]
	}); err != nil || told[2] {
		t.Fatalf("told %v, %v", told, err)
	}
}

func offlineSales(t *testing.T, s *site) {
	const sale = `{"lines":[{"sku":"cola","qty":1}]}`
	cloud := s.cloud(t, standin.Options{})
	a, _ := s.agent(t, dispense.Timing{})
	asks(t, cloud, 1)
	grant := func(n int64) {
		cloud.Send(s.cabinet, wire.ChannelCommand, wire.Command{V: 1, Cabinet: s.cabinet, Kind: wire.CommandStock,
			Stock: []wire.StockLine{{SKU: "cola", Name: "Cola", Sellable: 5, Price: 300, Currency: "CNY", Allowance: n}}})
	}
	grant(1)
	until(t, "a grant", func() bool { h, err := a.Health(); return err == nil && h.Allowance })
	if status, got := post(t, a, "/v1/offline-sales", sale); status != http.StatusConflict || got["code"] != "online" {
		t.Fatalf("%d %v", status, got)
	}
	s.net.down()
	until(t, "offline", func() bool { h, err := a.Health(); return err == nil && !h.Connected })
	if status, got := post(t, a, "/v1/offline-sales", sale); status != http.StatusAccepted {
		t.Fatalf("%d %v", status, got)
	}
	if status, got := post(t, a, "/v1/offline-sales", sale); status != http.StatusConflict || got["code"] != "allowance_exceeded" {
		t.Fatalf("%d %v", status, got)
	}
	grant(1) // waits at the broker, and knows nothing of the sale
	s.net.up()
	if _, err := cloud.Until(deadline(t), func(seen standin.Seen) bool { return seen.Total > 0 }); err != nil {
		t.Fatal(err)
	}
	until(t, "delivered", func() bool { return a.Depth() == 0 })
	grant(3)
	until(t, "the next grant", func() bool {
		_, st := get(t, a, "/v1/stock")
		return fmt.Sprint(st["allowance"]) == "[map[sku:cola units:3]]"
	})
}
