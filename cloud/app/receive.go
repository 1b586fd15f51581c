package app

import (
	"context"
	"fmt"
	"time"

	"vendline/cloud/ledger"
	"vendline/cloud/queue"
	"vendline/cloud/relay"
)

// drain is how long Close lets handlers finish before their context ends.
const drain = 10 * time.Second

// receive starts deliveries of a topic; stopping them is part of Close. Of the
// stock topic it also watches that something comes, and applies what does not.
func (a *App) receive(topic string, h queue.Handler) error {
	if topic == a.Config.topics().Stock {
		s := &relay.Stalled{Store: a.Ledger, Apply: h, Topic: topic, Lease: ledger.StockLease, Shards: a.Config.Shards, Clock: a.Deps.Clock, Log: a.Deps.Log}
		a.stalled, h = s, s.Hear(h)
		a.start(s.Run)
	}
	ctx, cancel := context.WithCancel(a.ctx)
	stop, err := a.queue.Receive(ctx, topic, groupOf(topic), h)
	if err != nil {
		cancel()
		return fmt.Errorf("receive %s: %w", topic, err)
	}
	a.onClose(func() {
		late := time.AfterFunc(drain, cancel)
		stop()
		late.Stop()
		cancel()
	})
	return nil
}

// groupOf names the consumer group of a topic: one group each, since a group
// that asks for different topics in different processes loses messages.
func groupOf(topic string) string { return topic + "_group" }
