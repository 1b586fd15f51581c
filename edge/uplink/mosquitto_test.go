package uplink_test

import (
	"context"
	"testing"

	"vendline/deploy/stack"
)

// The same promises over the real broker, killed with SIGKILL where the suite
// kills it. Not with -short: it needs mosquitto.
func TestUplinkOverMosquitto(t *testing.T) {
	if testing.Short() {
		return
	}
	suite(t, func(t *testing.T, cabinets ...string) server {
		own := stack.Own(t, stack.Options{Mosquitto: true, Cabinets: cabinets})
		d, err := stack.Load(own.Dir)
		if err != nil {
			t.Fatal(err)
		}
		return server{
			url: d.MQTTURL, user: d.MQTTUser, password: d.MQTTPassword,
			cabinetPassword: func(cabinet string) string { return d.Cabinets[cabinet] },
			kill: func() {
				if err := own.Mosquitto.Kill(); err != nil {
					t.Fatal(err)
				}
			},
			start: func() {
				if err := own.Mosquitto.Start(context.Background()); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
