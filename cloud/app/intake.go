package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"vendline/cloud/broker"
	"vendline/cloud/intake"
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
		Group: shareGroup(a.Config.MQTTPassword), Placer: a.Orders, Facts: facts{a.Ledger, a.Ledger}, DeadLetters: a.Ledger, Stock: stockView{a}, Commands: a.Ledger, Watcher: a.presence, Planograms: newest{a},
		Now: a.Deps.Clock, Log: a.Deps.Log,
	})
	if err != nil {
		return err
	}
	a.intake = in
	a.wakes.intake.Store(in)
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
