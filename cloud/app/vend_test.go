package app_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"vendline/cloud/app"
	"vendline/cloud/order"
	"vendline/shared/wire"
)

// The whole service over its own broker: a paid order wakes its cabinet, which
// asks, vends, and reports; what did not drop is for sale again, and told.
func TestAPaidOrderIsVendedAndReported(t *testing.T) {
	for _, mode := range []string{app.ModeAsync, app.ModeSync} {
		t.Run(mode, func(t *testing.T) { vendOne(t, mode) })
	}
}

func vendOne(t *testing.T, mode string) {
	dir := t.TempDir()
	a, err := app.New(t.Context(), app.Config{
		Mode: mode, HTTP: "127.0.0.1:0", Ledger: "sqlite:" + filepath.Join(dir, "l.db"), Stock: "embedded", Queue: "bolt:" + filepath.Join(dir, "q.db"),
		MQTT: "embedded://127.0.0.1:0", MQTTPassword: "cloud", CabinetPassword: func(string) (string, bool) { return "cabinet", true },
	}, app.System(slog.New(slog.DiscardHandler)))
	must(t, err)
	defer a.Close()
	must(t, a.Ledger.AddProducts(t.Context(), order.Product{SKU: "cola", Name: "Cola", Price: 350, Currency: "CNY"}))
	must(t, a.Ledger.AddCabinet(t.Context(), "C001", map[string]int64{"cola": 9}))
	c := connect(t, a.MQTTURL(), "C001")

	o, _, err := a.Orders.Place(t.Context(), order.Request{ID: uuid(1), Cabinet: "C001", User: "ann", Lines: []wire.Line{{SKU: "cola", Qty: 2}}})
	must(t, err)
	_, err = a.Orders.Pay(t.Context(), o.ID)
	must(t, err)
	c.await(t, wire.CommandWake)
	c.say(wire.ChannelAsk, wire.Ask{V: wire.Version, Cabinet: "C001", ID: uuid(2)})
	got := c.await(t, wire.CommandDispense)
	if got.Ask != uuid(2) || len(got.Dispense) != 1 || got.Dispense[0].Order != o.ID || got.Dispense[0].ExpiresIn > 60_000 {
		t.Fatalf("answered %+v", got)
	}
	c.say(wire.ChannelFact, wire.Event{V: wire.Version, ID: uuid(3), Cabinet: "C001", Epoch: uuid(4), Seq: 1, At: 1, Fact: &wire.Fact{Kind: wire.FactDispense,
		Dispense: &wire.Dispense{Command: got.Dispense[0].ID, Order: o.ID, Lines: []wire.DispenseLine{{SKU: "cola", State: wire.Failed, Units: 1}}}}})
	stock := c.await(t, wire.CommandStock)
	if len(stock.Stock) != 1 || stock.Stock[0].Sellable != 8 || stock.Stock[0].Allowance != 0 {
		t.Errorf("told %+v: eight are left, in a slot that jammed", stock.Stock)
	}
	o, err = a.Orders.Get(t.Context(), o.ID)
	must(t, err)
	if l := o.Lines[0]; o.Status != order.Consumed || l.State != order.LineFailed || l.Dropped != 1 {
		t.Errorf("it is %+v", o)
	}
	c.say(wire.ChannelFact, wire.Event{V: wire.Version, ID: uuid(5), Cabinet: "C001", Epoch: uuid(4), Seq: 2, At: 1, Fact: &wire.Fact{Kind: wire.FactSlotFault, Slot: "cola"}})
	c.say(wire.ChannelFact, wire.Event{V: wire.Version, ID: uuid(6), Cabinet: "C001", Epoch: uuid(4), Seq: 3, At: 1, Fact: &wire.Fact{Kind: wire.FactStocktake,
		Counts: []wire.Count{{SKU: "cola", Units: 3}}}})
	for stock = c.await(t, wire.CommandStock); stock.Stock[0].Sellable != 3 || stock.Stock[0].Allowance != 1; {
		stock = c.await(t, wire.CommandStock)
	}
}

func uuid(n int) string { return fmt.Sprintf("01900000-0000-7000-8000-%012x", n) }

// line is a cabinet's connection.
type line struct {
	client   mqtt.Client
	commands chan wire.Command
}

func connect(t *testing.T, url, cabinet string) *line {
	t.Helper()
	c := &line{commands: make(chan wire.Command, 64)}
	c.client = mqtt.NewClient(mqtt.NewClientOptions().AddBroker(url).SetClientID("edge-" + cabinet).SetUsername(cabinet).SetPassword("cabinet").SetConnectRetry(true))
	if token := c.client.Connect(); !token.WaitTimeout(30*time.Second) || token.Error() != nil {
		t.Fatalf("cannot connect: %v", token.Error())
	}
	t.Cleanup(func() { c.client.Disconnect(0) })
	token := c.client.Subscribe(wire.Topic(cabinet, wire.ChannelCommand), 1, func(_ mqtt.Client, m mqtt.Message) {
		var cmd wire.Command
		if err := wire.Decode(m.Payload(), wire.MaxMessage, &cmd); err != nil {
			t.Errorf("%s: %v", m.Payload(), err)
		}
		c.commands <- cmd
	})
	if !token.WaitTimeout(30*time.Second) || token.Error() != nil {
		t.Fatalf("cannot subscribe: %v", token.Error())
	}
	return c
}

func (c *line) say(ch wire.Channel, message any) {
	c.client.Publish(wire.Topic("C001", ch), 1, false, wire.Encode(message))
}

// await is the next command of a kind.
func (c *line) await(t *testing.T, kind wire.CommandKind) wire.Command {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case cmd := <-c.commands:
			if cmd.Kind == kind {
				return cmd
			}
		case <-late:
			t.Fatalf("no %s command", kind)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
