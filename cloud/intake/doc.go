// Package intake is Step 4 of 8: it takes what cabinets send over MQTT, places
// their orders, records their facts, and answers.
//
// The promise: an event is acknowledged, to the broker and to its cabinet, only
// after the transaction that made it count (or made its refusal durable) has
// committed. Whatever goes wrong before that, the cabinet still has its row and
// sends it again; Place and Record are idempotent by the event's id, so it
// counts once and is answered alike.
//
// # Ways an event can end
//
//	accepted or refused   verdict (or ack, for a fact), then MQTT ack
//	cannot be read        dead letter, then a verdict if id, epoch and seq can be
//	                      read, then MQTT ack: the cabinet parks it, others flow
//	a server is away      a few tries, then MQTT ack and nothing else: the broker's
//	                      window is free for others, the cabinet sends it again
//	too much at once      MQTT ack and nothing else, at once
//
// No handler of the MQTT client ever waits: it hands the message to a pool.
package intake

import (
	"context"
	"time"

	"vendline/cloud/order"
	"vendline/shared/wire"
)

// Placer places orders; *order.Service is one. A nil error means committed.
// Errors are *order.Refusal, or anything else when the outcome is unknown.
type Placer interface {
	Place(ctx context.Context, r order.Request) (o order.Order, replay bool, err error)
}

// Facts makes physical facts durable, once per event id. nil means committed,
// now or before. Errors are *order.Refusal, or unknown.
type Facts interface {
	Record(ctx context.Context, cabinet string, e wire.Event) error
}

// DeadLetters keeps what cannot be worked off, for people to look at. nil means
// durable. meta holds what is known of the letter, by name.
type DeadLetters interface {
	Bury(ctx context.Context, source, reason string, payload []byte, meta map[string]string) error
}

// Stock tells what the cloud believes a cabinet can sell, and which sales of the
// cabinet's own are counted in it, as of one instant.
type Stock interface {
	View(ctx context.Context, cabinet string) ([]wire.StockLine, *wire.Counted, error)
}

// Commands tells a cabinet what it is to dispense: all that waits for it, oldest
// first, each with the milliseconds in which it may still begin.
type Commands interface {
	OpenCommands(ctx context.Context, cabinet string) ([]wire.Vend, error)
}

// Watcher hears of cabinets' health, in order. Its methods must not block;
// presence.Fleet is one.
type Watcher interface {
	Beat(b wire.Beat, at time.Time) // at is the cloud's clock
	State(s wire.State, at time.Time)
	Answered(cabinet string, at time.Time) // an event of its is durable and answered
}
