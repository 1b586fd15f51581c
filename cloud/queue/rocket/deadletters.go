package rocket

import (
	"context"
	"strings"

	"vendline/cloud/queue"
)

// dlqPrefix and a group name the topic where the broker puts what a group failed to handle too often: a
// member that is not ours, or the broker's own limit.
const dlqPrefix = "%DLQ%"

// propOrigin keeps a dead letter's topic when it has to be put back.
const propOrigin = "vendOrigin"

// DeadLetters delivers what the broker gave up of a group, at least once, as
// Receive does; Origin says which topic a message was of. Nothing else reads that
// topic, and RocketMQ itself forgets it after its retention time.
func (q *Queue) DeadLetters(ctx context.Context, group string, h queue.Handler) (stop func(), err error) {
	return q.Receive(ctx, dlqPrefix+group, group+"_dead", h)
}

// originOf is the topic a dead letter was of, as the broker or we noted it.
func originOf(topic string, property func(string) string) string {
	if !strings.HasPrefix(topic, dlqPrefix) {
		return ""
	}
	for _, name := range []string{propOrigin, "DLQ_ORIGIN_TOPIC", "RETRY_TOPIC"} {
		if v := property(name); v != "" {
			return v
		}
	}
	return ""
}
