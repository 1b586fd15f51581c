package app

import (
	"context"
	"fmt"
	"time"

	"vendline/cloud/queue"
)

// drain is how long Close lets handlers finish before their context ends.
const drain = 10 * time.Second

// receive starts deliveries of a topic; stopping them is part of Close.
func (a *App) receive(topic string, h queue.Handler) error {
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
