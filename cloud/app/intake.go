package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"vendline/cloud/broker"
	"vendline/cloud/intake"
	"vendline/cloud/ledger"
	"vendline/cloud/order"
	"vendline/cloud/statement"
	"vendline/shared/wire"
)

// startIntake connects to the MQTT broker, or starts one in this process.
func (a *App) startIntake(context.Context) error {
	if a.Config.MQTT == "" || !a.Config.has(RoleIntake) {
		return nil
	}
	a.mqttURL = a.Config.MQTT
	if kind, rest := scheme(a.Config.MQTT); kind == "embedded" {
		b, err := broker.Start(broker.Options{Addr: rest, CloudPassword: a.Config.MQTTPassword, Password: a.Config.CabinetPassword, Log: a.Deps.Log})
		if err != nil {
			return err
		}
		a.onClose(func() { _ = b.Close() })
		a.mqttURL = b.URL()
	}
	user := a.Config.MQTTUser
	if user == "" {
		user = broker.CloudUser
	}
	in, err := intake.Start(intake.Options{
		Broker: a.mqttURL, User: user, Password: a.Config.MQTTPassword, Client: "vend-cloud-" + a.Config.Instance,
		Group: shareGroup(a.Config.MQTTPassword), Placer: a.Orders, Facts: facts{a.Ledger}, DeadLetters: a.Ledger, Stock: stockView{a}, Watcher: a.presence,
		Now: a.Deps.Clock, Log: a.Deps.Log,
	})
	if err != nil {
		return err
	}
	a.intake = in
	a.onClose(in.Close)
	return nil
}

// MQTTURL is the broker that cabinets connect to.
func (a *App) MQTTURL() string { return a.mqttURL }

// shareGroup names the shared subscription. It must be a secret: mosquitto lets
// any user join any group, and would send a stranger, who may read nothing of
// it, his share of the messages into the void.
func shareGroup(password string) string {
	sum := sha256.Sum256([]byte("vendline shared subscription\x00" + password))
	return "intake-" + hex.EncodeToString(sum[:8])
}

// facts books what physically happened.
type facts struct{ *ledger.Ledger }

func (f facts) Record(ctx context.Context, cabinet string, e wire.Event) error {
	states := map[wire.FactKind]statement.State{wire.FactRestock: statement.Restock, wire.FactSale: statement.Sale}
	state, ok := states[e.Fact.Kind]
	if !ok {
		return &order.Refusal{Code: wire.CodeInvalidRequest, Detail: "no such fact: " + string(e.Fact.Kind)}
	}
	return f.Ledger.Record(ctx, ledger.Fact{ID: e.ID, Cabinet: cabinet, State: state, Epoch: e.Epoch, Seq: e.Seq, Cause: "cabinet", Lines: e.Fact.Lines})
}

// stockView is what a cabinet is told of its own stock.
type stockView struct{ *App }

func (v stockView) View(ctx context.Context, cabinet string) ([]wire.StockLine, error) {
	sellable, err := v.Ledger.Sellable(ctx, cabinet)
	if err != nil {
		return nil, fmt.Errorf("stock view: %w", err)
	}
	products, err := v.Ledger.Products(ctx)
	if err != nil {
		return nil, fmt.Errorf("stock view: %w", err)
	}
	var lines []wire.StockLine
	for _, p := range products {
		if n, ok := sellable[p.SKU]; ok {
			lines = append(lines, wire.StockLine{SKU: p.SKU, Name: p.Name, Sellable: max(n, 0), Price: p.Price, Currency: p.Currency})
		}
	}
	return lines, nil
}
