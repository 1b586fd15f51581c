package rocket

import (
	"context"
	"fmt"
	"strconv"
)

// retryTopic is where the broker puts what a group sent back.
func retryTopic(group string) string { return "%RETRY%" + group }

// Depth implements queue.Depther: what the brokers hold beyond the group's
// offsets. Messages that wait for their time, delayed or to be tried again, do
// not count until they are due.
func (q *Queue) Depth(ctx context.Context, topic, group string) (int64, error) {
	if q.isClosed() {
		return 0, ErrClosed
	}
	q.persist(topic, group)
	n, err := q.depth(ctx, topic, group)
	if err != nil {
		return 0, fmt.Errorf("queue/rocket: depth of %s for %s: %w", topic, group, err)
	}
	again, err := q.depth(ctx, retryTopic(group), group)
	if err != nil && !hasCode(err, codeTopicNotExist) {
		return 0, fmt.Errorf("queue/rocket: depth of %s for %s: %w", retryTopic(group), group, err)
	}
	return n + again, nil
}

func (q *Queue) depth(ctx context.Context, topic, group string) (int64, error) {
	places, err := q.route(ctx, topic)
	if err != nil {
		return 0, err
	}
	byBroker := map[string][]int{}
	for _, p := range places {
		byBroker[p.broker] = append(byBroker[p.broker], p.queue)
	}
	var total int64
	for addr, queues := range byBroker {
		err := q.with(ctx, addr, func(l *line) error {
			for _, queue := range queues {
				n, err := l.waiting(topic, group, queue)
				if err != nil {
					return fmt.Errorf("broker %s, queue %d: %w", addr, queue, err)
				}
				total += n
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return total, nil
}

// waiting is what one queue holds beyond the group's offset; a group that has
// none yet will start at the oldest message.
func (l *line) waiting(topic, group string, queue int) (int64, error) {
	fields := map[string]string{"topic": topic, "queueId": strconv.Itoa(queue), "consumerGroup": group}
	end, err := l.offset(askMaxOffset, fields)
	if err != nil {
		return 0, err
	}
	begin, err := l.offset(askConsumerOffset, fields)
	if hasCode(err, codeNotFound) {
		begin, err = l.offset(askMinOffset, fields)
	}
	if err != nil {
		return 0, err
	}
	return max(0, end-begin), nil
}

func (l *line) offset(code int, fields map[string]string) (int64, error) {
	answer, _, err := l.ask(code, fields)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(answer["offset"], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("offset in the response: %w", err)
	}
	return n, nil
}
